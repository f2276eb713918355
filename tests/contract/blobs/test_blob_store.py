"""Behavior that every blob store has."""

import hashlib
import os
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.object_store import PAGE_KEYS
from vedette.blobs.blob_store import AREAS, BlobKey, BlobStore, open_verified, pieces_of
from vedette.blobs.s3_bucket import BLOB_RANGE_BYTES
from vedette.errors import BadRequestError, NotFoundError


def key_of(content: bytes, area: str = "binaries") -> BlobKey:
    return BlobKey(area, hashlib.sha256(content).hexdigest())  # type: ignore[arg-type]


def put(store: BlobStore, content: bytes, area: str = "binaries") -> BlobKey:
    key = key_of(content, area)
    assert store.put(key, [content]) == len(content)
    return key


@pytest.mark.parametrize("size", [0, 1, 1_000_000, 2 * BLOB_RANGE_BYTES + 1])
def test_what_was_put_comes_back(store: BlobStore, size: int) -> None:
    content = os.urandom(size)
    key = key_of(content)
    pieces = (content[at : at + 700_000] for at in range(0, size, 700_000))
    assert store.put(key, pieces) == size
    assert store.size(key) == size
    assert b"".join(store.read(key)) == content
    with open_verified(store, key) as file:
        assert b"".join(pieces_of(file)) == content


@pytest.mark.parametrize(
    ("start", "length"), [(0, 10), (3, 4), (990, 100), (1_000, 1), (5_000, 5), (5, None), (7, 0)]
)
def test_a_range_is_read_as_a_slice_is(store: BlobStore, start: int, length: int | None) -> None:
    content = os.urandom(1_000)
    key = put(store, content)
    wanted = content[start : None if length is None else start + length]
    assert b"".join(store.read(key, start, length)) == wanted


def test_what_is_not_there_is_said_so(store: BlobStore) -> None:
    key = key_of(b"never stored")
    assert store.size(key) is None
    with pytest.raises(NotFoundError):
        list(store.read(key))
    with pytest.raises(NotFoundError):
        open_verified(store, key)
    store.delete(key)


def test_putting_again_is_harmless_and_a_deleted_blob_is_gone(store: BlobStore) -> None:
    key = put(store, b"twice")
    assert put(store, b"twice") == key
    assert [one.key for one in store.blobs("binaries")] == [key]
    store.delete(key)
    assert store.size(key) is None
    assert list(store.blobs("binaries")) == []


@pytest.mark.parametrize("size", [0, 10, 3 * BLOB_RANGE_BYTES])
def test_bytes_of_another_hash_are_refused_and_leave_nothing(store: BlobStore, size: int) -> None:
    key = key_of(b"the real content")
    pieces = [bytes(min(size, 1 << 20))] * max(1, size >> 20)
    with pytest.raises(BadRequestError) as caught:
        store.put(key, pieces)
    assert caught.value.reason == "hash_mismatch"
    assert store.size(key) is None
    assert list(store.blobs("binaries")) == []


def test_a_source_that_fails_halfway_leaves_nothing(store: BlobStore) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(2 * BLOB_RANGE_BYTES)
        raise EOFError("the sender went away")

    key = key_of(b"x")
    with pytest.raises(EOFError):
        store.put(key, broken())
    assert store.size(key) is None


def test_a_list_has_size_and_time_of_its_area_alone(store: BlobStore) -> None:
    before_us = (int(time.time()) - 1) * 1_000_000  # object stores count seconds
    keys = {area: put(store, area.encode(), area) for area in AREAS}
    for area in AREAS:
        (found,) = store.blobs(area)
        assert (found.key, found.size) == (keys[area], len(area))
        assert before_us <= found.stored_us <= time.time() * 1_000_000


def test_a_list_has_more_than_a_page(store: BlobStore) -> None:
    keys = {put(store, b"%d" % number) for number in range(2 * PAGE_KEYS + 10)}
    assert {one.key for one in store.blobs("binaries")} == keys


def test_one_content_put_by_many_at_once_is_one_whole_blob(store: BlobStore) -> None:
    content = os.urandom(3_000_000)
    key = key_of(content)
    threads = [threading.Thread(target=store.put, args=(key, [content])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_verified(store, key) as file:
        assert file.read() == content


@pytest.mark.parametrize(
    ("area", "sha256"),
    [
        ("binaries", "short"),
        ("binaries", "../" * 21 + "a"),
        ("binaries", "A" * 64),
        ("binaries", "a" * 63 + "\n"),
        ("..", "a" * 64),
        ("tls", "a" * 64),
    ],
)
def test_what_is_no_hash_is_no_key(area: str, sha256: str) -> None:
    with pytest.raises(ValueError, match="no key"):
        BlobKey(area, sha256)  # type: ignore[arg-type]
