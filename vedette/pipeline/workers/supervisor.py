"""Supervises the worker processes. Detects at once a worker that has ended, even on an idle server,
and after WORKER_STALL_S a worker that makes no progress (stopped, or stuck on a record).

Progress is read from shared memory (`progress.py`). The deadline applies to each step, not to the
whole commit, so a large commit on a slow machine is not mistaken for a stall.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from vedette.limits import WORKER_CHECK_S, WORKER_PING_S, WORKER_STALL_S, Limit
from vedette.pipeline.workers.worker_handle import WorkerHandle

WORKER_START_STALLS: Limit[int] = 6
"""Factor by which WORKER_STALL_S is longer while a worker starts: on a very busy machine the
imports alone took longer than WORKER_STALL_S, and workers were replaced repeatedly before they had
begun."""


log = structlog.get_logger(__name__)

Workers = Sequence[WorkerHandle]

_HANG_UP: Final = select.POLLRDHUP | select.POLLHUP | select.POLLERR


class WorkerSupervisor:
    """A thread that checks the current workers every WORKER_CHECK_S. `on_failure` receives the
    checked workers and the numbers of those that stalled; with none stalled, a worker has
    disconnected. It is called once for the same workers."""

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
        """Readable when supervision must stop. Without it, the thread would wait for workers
        another half second at every stop and import."""
        self._thread = threading.Thread(target=self._loop, name="worker-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stops watching. Idempotent; safe to call even if it was never started."""
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
                log.exception("worker check failed")
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
    """Returns whether a worker disconnects within WORKER_CHECK_S. Returns early when `wake_fd` is
    readable."""
    poller = select.poll()
    poller.register(wake_fd, select.POLLIN)
    for worker in workers:
        descriptor = worker.fileno()
        if descriptor < 0:  # closed by the pool at this moment
            return False
        poller.register(descriptor, _HANG_UP)
    return any(event & _HANG_UP for _, event in poller.poll(WORKER_CHECK_S * 1_000))
