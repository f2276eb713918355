"""SHA-256 of the content of files, computed on a thread: hashing releases the interpreter lock."""

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from vedette.limits import Limit

DIGEST_INLINE_BYTES: Limit[int] = 64 * 1024
"""Smaller blocks are hashed by the caller: handing them to the hashing thread would cost more."""

DIGEST_BLOCK_BYTES: Limit[int] = 1024 * 1024
"""Bytes per read while a file is hashed."""

DIGEST_BLOCKS_QUEUED_MAX: Limit[int] = 8
"""Blocks of a file that may wait for the hashing thread; bounds memory."""


class Hasher:
    """A thread that hashes. One per process; closing it waits for what is queued."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hash")

    def digest(self) -> "Digest":
        """A digest that is fed block by block."""
        return Digest(self._thread)

    def digest_range(self, path: Path, begin: int, end: int) -> Future[bytes]:
        """SHA-256 of a range of a file. The result raises OSError."""
        return self._thread.submit(_digest_range, path, begin, end - begin)

    def close(self) -> None:
        self._thread.shutdown()


class Digest:
    """SHA-256 of one file, block by block. Not thread-safe."""

    def __init__(self, thread: ThreadPoolExecutor) -> None:
        self._thread = thread
        self._hash = hashlib.sha256()
        self._queued: deque[Future[None]] = deque()

    def add(self, block: bytes) -> None:
        if len(block) < DIGEST_INLINE_BYTES:
            self._wait(0)
            self._hash.update(block)
        else:
            self._wait(DIGEST_BLOCKS_QUEUED_MAX)
            self._queued.append(self._thread.submit(self._hash.update, block))

    def value(self) -> bytes:
        self._wait(0)
        return self._hash.digest()

    def _wait(self, left: int) -> None:
        while len(self._queued) > left:
            self._queued.popleft().result()


def _digest_range(path: Path, begin: int, left: int) -> bytes:
    digest = hashlib.sha256()
    block = memoryview(bytearray(DIGEST_BLOCK_BYTES))
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while left and (count := file.readinto(block[:left])):
            digest.update(block[:count])
            left -= count
    return digest.digest()
