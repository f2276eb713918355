"""A process that prepares, as the server sees it."""

import socket
from collections.abc import Iterator

import pytest

from vedette.pipeline.submission import Submission
from vedette.pipeline.workers.message_channel import SocketChannel
from vedette.pipeline.workers.protocol import Deliver, FromServer, FromWorker, WithoutPartitions
from vedette.pipeline.workers.worker_handle import WorkerHandle

SMALL = WithoutPartitions([1, 2])
LARGE = Deliver(7, Submission([b"x" * 30_000_000], 1, 2, 3))
"""More than any buffer between two processes holds."""


@pytest.fixture
def ends() -> Iterator[tuple[WorkerHandle, SocketChannel[FromServer]]]:
    ours, its = socket.socketpair()
    link: SocketChannel[FromServer] = SocketChannel(its, FromServer)
    worker = WorkerHandle(SocketChannel(ours, FromWorker))
    yield worker, link
    worker.close()
    link.close()


def test_who_tells_a_busy_process_does_not_wait(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    for message in (LARGE, SMALL):
        worker.tell(message)
    assert [link.receive(), link.receive()] == [LARGE, SMALL], "in order"
    worker.wait()


def test_that_a_process_has_ended_shows_to_who_waits_or_listens(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    link.close()
    worker.tell(SMALL)
    with pytest.raises(ConnectionError):
        worker.wait()
    with pytest.raises(ConnectionError):
        worker.listen()


def test_what_cannot_be_sent_ends_the_process(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    worker.tell(WithoutPartitions([1 << 70]))
    with pytest.raises(ConnectionError):
        worker.wait()
    with pytest.raises(ConnectionError):
        link.receive()


def test_closing_does_not_wait_for_a_busy_process(
    ends: tuple[WorkerHandle, SocketChannel[FromServer]],
) -> None:
    worker, link = ends
    worker.tell(LARGE)
    worker.close()
    with pytest.raises(ConnectionError):
        link.receive()
