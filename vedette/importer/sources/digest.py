"""SHA-256 of what is read, made by a thread of its own: it needs no interpreter."""

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

_ASIDE_BYTES: Final = 64 * 1024
"""Less is not worth handing over."""

_BLOCK_BYTES: Final = 1024 * 1024

_WAITING_MAX: Final = 8
"""Blocks that may wait: reading must not fill the memory."""

_hashing: Final = ThreadPoolExecutor(1, thread_name_prefix="hash")


def of_part(path: Path, begin: int, end: int) -> Future[bytes]:
    """Of a part of a file. The result raises OSError."""
    return _hashing.submit(_of_part, path, begin, end - begin)


def _of_part(path: Path, begin: int, left: int) -> bytes:
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        while left and (count := file.readinto(block[:left])):
            digest.update(block[:count])
            left -= count
    return digest.digest()


class Digest:
    """Of one file, block by block. Not for use by several threads."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._under_way: deque[Future[None]] = deque()

    def add(self, block: bytes) -> None:
        if len(block) < _ASIDE_BYTES:
            self._wait(0)
            self._hash.update(block)
        else:
            self._wait(_WAITING_MAX)
            self._under_way.append(_hashing.submit(self._hash.update, block))

    def value(self) -> bytes:
        self._wait(0)
        return self._hash.digest()

    def _wait(self, left: int) -> None:
        while len(self._under_way) > left:
            self._under_way.popleft().result()
