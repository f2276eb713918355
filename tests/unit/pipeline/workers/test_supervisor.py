"""The thread that watches the workers, over real channels."""

import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from vedette.pipeline.workers import supervisor
from vedette.pipeline.workers.progress import ProgressMemory, create_progress_fd
from vedette.pipeline.workers.protocol import FromWorker
from vedette.pipeline.workers.socket_channel import SocketChannel
from vedette.pipeline.workers.supervisor import WorkerSupervisor
from vedette.pipeline.workers.worker_handle import WorkerHandle

TIMEOUT_S = 60.0


@pytest.fixture
def worker() -> Iterator[tuple[WorkerHandle, socket.socket]]:
    """A worker that says nothing, and its end of the channel."""
    ours, its = socket.socketpair()
    handle = WorkerHandle(
        SocketChannel(ours, FromWorker), ProgressMemory(create_progress_fd(1), 1).slot(0)
    )
    yield handle, its
    its.close()
    handle.close()


def ignored(_workers: Sequence[WorkerHandle], _stalled: list[int]) -> None:
    pass


def test_it_ends_while_it_waits_for_workers(
    worker: tuple[WorkerHandle, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WORKER_CHECK_S", 24 * 3600.0)
    watching, workers = threading.Event(), [worker[0]]

    def current() -> Sequence[WorkerHandle]:
        watching.set()
        return workers

    watch = WorkerSupervisor(current, ignored)
    watch.start()
    assert watching.wait(TIMEOUT_S)
    closing = threading.Thread(target=watch.close, daemon=True)
    closing.start()
    closing.join(TIMEOUT_S)
    assert not closing.is_alive()


def test_a_worker_that_ends_is_told_of_at_once(
    worker: tuple[WorkerHandle, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WORKER_CHECK_S", 24 * 3600.0)
    (handle, its), reported = worker, threading.Event()
    workers = [handle]
    watch = WorkerSupervisor(lambda: workers, lambda _workers, _stalled: reported.set())
    watch.start()
    its.shutdown(socket.SHUT_RDWR)
    assert reported.wait(TIMEOUT_S)
    watch.close()


def test_closing_is_idempotent_and_needs_no_start() -> None:
    watch = WorkerSupervisor(list, ignored)
    watch.close()
    watch.close()
