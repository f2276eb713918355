"""The server's side of a worker process."""

import socket
from collections.abc import Iterator

import pytest

from vedette.limits import WORKER_CHECK_S, WORKER_PING_S
from vedette.pipeline.submission import Submission
from vedette.pipeline.workers.progress import ProgressMemory, ProgressSlot, create_progress_fd
from vedette.pipeline.workers.protocol import (
    Deliver,
    FromServer,
    FromWorker,
    LookupProcessHashes,
    Ping,
    ProcessHashesFound,
    WithoutPartitions,
)
from vedette.pipeline.workers.socket_channel import SocketChannel
from vedette.pipeline.workers.worker_handle import WorkerHandle

SMALL = WithoutPartitions([1, 2])
LARGE = Deliver(7, Submission([b"x" * 30_000_000], 1, 2, 3))
"""More than any buffer between two processes holds."""


def progress() -> ProgressSlot:
    return ProgressMemory(create_progress_fd(1), 1).slot(0)


@pytest.fixture
def ends() -> Iterator[tuple[WorkerHandle, SocketChannel[FromServer]]]:
    ours, its = socket.socketpair()
    link: SocketChannel[FromServer] = SocketChannel(its, FromServer)
    worker = WorkerHandle(SocketChannel(ours, FromWorker), progress())
    yield worker, link
    worker.close()
    link.close()


def test_sending_to_a_busy_worker_does_not_block(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    for message in (LARGE, SMALL):
        worker.send(message)
    assert [link.receive(), link.receive()] == [LARGE, SMALL], "in order"
    worker.flush()


def test_a_worker_that_has_ended_shows_when_flushing_and_receiving(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    link.close()
    worker.send(SMALL)
    with pytest.raises(ConnectionError):
        worker.flush()
    with pytest.raises(ConnectionError):
        worker.receive()


def test_what_cannot_be_sent_ends_the_process(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    worker.send(WithoutPartitions([1 << 70]))
    with pytest.raises(ConnectionError):
        worker.flush()
    with pytest.raises(ConnectionError):
        link.receive()


def test_closing_does_not_wait_for_a_busy_process(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    worker.send(LARGE)
    worker.close()
    with pytest.raises(ConnectionError):
        link.receive()


def test_a_worker_without_progress_is_pinged_and_its_silence_counted(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    checks = int(WORKER_PING_S / WORKER_CHECK_S) + 3
    silent = [worker.check(WORKER_CHECK_S) for _ in range(checks)]
    assert silent == [WORKER_CHECK_S * (n + 1) for n in range(checks)]
    assert link.receive() == Ping()
    worker.progress.position(1)
    assert worker.check(WORKER_CHECK_S) == 0.0


def test_a_pause_of_the_server_itself_is_no_silence_of_its_workers(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, _ = ends
    assert worker.check(3_600) == 2 * WORKER_CHECK_S


def test_a_worker_that_waits_for_the_server_is_not_silent(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    link.send(LookupProcessHashes())
    assert worker.receive() == LookupProcessHashes()
    assert [worker.check(WORKER_CHECK_S) for _ in range(3)] == [0.0] * 3
    worker.answer(ProcessHashesFound(None))
    assert worker.check(WORKER_CHECK_S) > 0.0
