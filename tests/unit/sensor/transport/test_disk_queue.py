"""The queue on disk: nothing safe is lost, and what is dropped is counted."""

import gzip
from pathlib import Path

import pytest

from vedette.sensor.limits import QUEUE_BYTES_MIN
from vedette.sensor.transport import disk_queue as module
from vedette.sensor.transport.disk_queue import DiskQueue


def filled(folder: Path, *lines: bytes, bytes_max: int = QUEUE_BYTES_MIN) -> DiskQueue:
    """A queue with a block for each line."""
    queue = DiskQueue(folder, bytes_max)
    for line in lines:
        queue.add(line + b"\n")
        assert queue.close_block()
    return queue


def blocks(queue: DiskQueue) -> list[tuple[int, bytes]]:
    """All blocks, as a sender would take them."""
    found = []
    while (block := queue.oldest()) is not None:
        found.append((block[0], gzip.decompress(block[1]).strip()))
        queue.sent(block[0])
    return found


def test_blocks_leave_in_their_order_and_numbers_begin_with_one(tmp_path: Path) -> None:
    assert blocks(filled(tmp_path, b"a", b"b")) == [(1, b"a"), (2, b"b")]


def test_what_was_closed_is_there_after_a_crash(tmp_path: Path) -> None:
    before = filled(tmp_path, b"a", b"b")
    after = DiskQueue(tmp_path, QUEUE_BYTES_MIN)
    assert (after.epoch, after.next) == (before.epoch, 3)
    assert blocks(after) == [(1, b"a"), (2, b"b")]


def test_numbers_go_on_when_all_was_sent(tmp_path: Path) -> None:
    blocks(filled(tmp_path, b"a", b"b"))
    assert blocks(filled(tmp_path, b"c")) == [(3, b"c")]


def test_a_block_that_was_half_written_is_no_block(tmp_path: Path) -> None:
    filled(tmp_path, b"a")
    (tmp_path / "000000000002.ndjson.gz.new").write_bytes(b"half")
    assert blocks(DiskQueue(tmp_path, QUEUE_BYTES_MIN)) == [(1, b"a")]


def test_a_lost_folder_is_a_new_epoch(tmp_path: Path) -> None:
    assert filled(tmp_path / "a", b"a").epoch != filled(tmp_path / "b", b"a").epoch


def test_the_oldest_goes_when_the_bound_is_reached_and_leaves_a_gap(tmp_path: Path) -> None:
    queue = filled(tmp_path, b"a", b"b", b"c", bytes_max=60)
    assert queue.dropped_blocks == 1
    assert blocks(queue) == [(2, b"b"), (3, b"c")]


def test_a_large_block_is_closed_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES_WANTED", 10)
    queue = DiskQueue(tmp_path, QUEUE_BYTES_MIN)
    queue.add(b"0123456789")
    assert (queue.waiting_blocks, queue.open_bytes) == (1, 0)


def test_a_full_disk_keeps_events_in_memory(tmp_path: Path) -> None:
    queue = DiskQueue(tmp_path, QUEUE_BYTES_MIN)
    queue.add(b"a\n")
    tmp_path.rename(tmp_path.with_name("away"))
    try:
        assert queue.close_block() is False
    finally:
        tmp_path.with_name("away").rename(tmp_path)
    assert queue.close_block()
    assert blocks(queue) == [(1, b"a")]


def test_a_new_epoch_renumbers_what_waits(tmp_path: Path) -> None:
    queue = filled(tmp_path, b"a", b"b", b"c")
    queue.sent(1)
    epoch = queue.epoch
    queue.renumber()
    assert queue.epoch != epoch
    assert blocks(DiskQueue(tmp_path, QUEUE_BYTES_MIN)) == [(1, b"b"), (2, b"c")]


def test_the_oldest_that_waits_is_named(tmp_path: Path) -> None:
    queue = filled(tmp_path, b"a", b"b")
    queue.sent(1)
    assert (queue.first_waiting, queue.waiting_blocks) == (2, 1)
    queue.sent(2)
    assert queue.first_waiting == queue.next == 3
