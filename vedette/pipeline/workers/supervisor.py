"""Watches the worker processes: a worker that has ended is noticed at once, also on an idle server,
and a worker that makes no progress (stopped, or stuck on a record) after WORKER_STALL_S.

Progress is read from shared memory (`progress.py`), so that a large commit on a slow machine is not
taken for a stall: the deadline is one for each step, not for the whole commit.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from vedette.limits import WORKER_CHECK_S, WORKER_PING_S, WORKER_STALL_S, WORKER_START_STALLS
from vedette.pipeline.workers.worker_handle import WorkerHandle

log = structlog.get_logger(__name__)

Workers = Sequence[WorkerHandle]

_HANG_UP: Final = select.POLLRDHUP | select.POLLHUP | select.POLLERR


class WorkerSupervisor:
    """A thread that checks the current workers every WORKER_CHECK_S. `on_failure` gets the workers
    that were checked and those of them that stalled; the others have failed otherwise. It is
    called once for the same workers."""

    def __init__(
        self,
        current: Callable[[], Workers],
        on_failure: Callable[[Workers, list[int]], None],
        stall_s: float = WORKER_STALL_S,
    ) -> None:
        self._current = current
        self._on_failure = on_failure
        self._stall_s = stall_s
        self._ping_s = min(WORKER_PING_S, stall_s / 4)
        self._reported: Workers | None = None
        self._checked_s = time.monotonic()
        self._stopping = threading.Event()
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC)
        """Readable when it is to stop: it would go on waiting for workers, half a second of every
        stop and import."""
        self._thread = threading.Thread(target=self._loop, name="worker-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stops watching. Idempotent; safe to call when it was never started."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        os.eventfd_write(self._wake_fd, 1)
        if self._thread.is_alive():
            self._thread.join()
        os.close(self._wake_fd)

    def _loop(self) -> None:
        while not self._stopping.is_set():
            workers = self._current()
            if not workers or workers is self._reported:
                self._stopping.wait(WORKER_CHECK_S)
                continue
            try:
                self._check(workers)
            except Exception:
                log.exception("checking the workers failed")
                self._stopping.wait(WORKER_CHECK_S)

    def _check(self, workers: Workers) -> None:
        has_ended = _wait_for_hang_up(workers, self._wake_fd)
        if self._stopping.is_set():
            return
        now_s = time.monotonic()
        elapsed_s, self._checked_s = now_s - self._checked_s, now_s
        silent = [
            number
            for number, worker in enumerate(workers)
            if worker.check(elapsed_s, self._ping_s) >= self._stall_limit_s(worker)
            and not worker.has_unread_message()
        ]
        if has_ended or silent:
            self._reported = workers
            self._on_failure(workers, silent)

    def _stall_limit_s(self, worker: WorkerHandle) -> float:
        return self._stall_s * (1 if worker.has_begun else WORKER_START_STALLS)


def _wait_for_hang_up(workers: Workers, wake_fd: int) -> bool:
    """Whether a worker disconnects within WORKER_CHECK_S. Returns sooner when `wake_fd` can be
    read."""
    poller = select.poll()
    poller.register(wake_fd, select.POLLIN)
    for worker in workers:
        descriptor = worker.fileno()
        if descriptor < 0:  # closed by the pool in this very moment
            return False
        poller.register(descriptor, _HANG_UP)
    return any(event & _HANG_UP for _, event in poller.poll(WORKER_CHECK_S * 1_000))
