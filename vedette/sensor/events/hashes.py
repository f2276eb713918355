"""File hashes, cached by device, inode, size and times. The read rate is limited.

A changed file keeps its inode, but not its times, so the cache is never stale (`stat` is called
every time). Files above the size limit or the rate limit have no hash: it is missing, never
guessed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from ..limits import (
    FILE_HEAD_BYTES,
    HASH_BURST_BYTES,
    HASH_BYTES_MAX,
    HASH_BYTES_PER_S,
    HASH_CACHE_MAX,
    HASH_CHUNK,
)
from .file_type import file_type

Key = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Hashed:
    """Hexadecimal hashes of a file's content. `file_type` is from
    docs/api-objects.md#process-events, or 0."""

    md5: str
    sha256: str
    size: int
    inode: int
    file_type: int


def key_of(status: os.stat_result) -> Key:
    """Returns the cache key. It changes whenever the content may have changed."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def hash_handle(
    handle: int, is_late: Callable[[], bool] = lambda: False
) -> tuple[str, str, int, bytes] | None:
    """Returns MD5, SHA-256, size and first bytes of an open file; None if it took too long or
    cannot be read."""
    md5 = hashlib.md5(usedforsecurity=False)
    sha256, at, head = hashlib.sha256(), 0, b""
    while True:
        try:
            chunk = os.pread(handle, HASH_CHUNK, at)
        except OSError:
            return None
        if not chunk:
            return md5.hexdigest(), sha256.hexdigest(), at, head
        if is_late() or at > HASH_BYTES_MAX:
            return None
        head = head or chunk[:FILE_HEAD_BYTES]
        md5.update(chunk)
        sha256.update(chunk)
        at += len(chunk)


class TokenBucket:
    """Rate limit in bytes per second, with a burst. Thread-safe."""

    def __init__(self, per_s: int = HASH_BYTES_PER_S, burst: int = HASH_BURST_BYTES) -> None:
        self._per_s, self._burst = per_s, burst
        self._left, self._at = float(burst), time.monotonic()
        self._lock = threading.Lock()

    def take(self, amount: int) -> bool:
        with self._lock:
            now = time.monotonic()
            self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
            self._at = now
            if amount > self._left:
                return False
            self._left -= amount
            return True


class FileHashes:
    """Hashes by path. Thread-safe."""

    def __init__(self, on_new: Callable[[str, Hashed], None] | None = None) -> None:
        """`on_new` is called for every file that was not in the cache."""
        self._cache: OrderedDict[Key, Hashed] = OrderedDict()
        self._lock = threading.Lock()
        self._bucket = TokenBucket()
        self._on_new = on_new
        self.skipped = 0
        """Number of files that were not hashed: too large, or over the rate limit."""

    def of(self, path: str) -> Hashed | None:
        """Returns the hashes of a regular file; None if it does not exist or was skipped."""
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode) or not status.st_size:
                return None
            key = key_of(status)
            with self._lock:
                known = self._cache.get(key)
            return known or self._read(path, key)
        except (OSError, ValueError):  # deleted, or an invalid name
            return None

    def _read(self, path: str, key: Key) -> Hashed | None:
        if key[2] > HASH_BYTES_MAX or not self._bucket.take(key[2]):
            self.skipped += 1
            return None
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOATIME)
        try:
            if key_of(os.fstat(handle)) != key:
                return None
            read = hash_handle(handle)
        finally:
            os.close(handle)
        if read is None:
            return None
        md5, sha256, size, head = read
        hashed = Hashed(md5, sha256, size, key[1], file_type(head))
        self._keep(key, hashed)
        if self._on_new is not None:
            self._on_new(path, hashed)
        return hashed

    def _keep(self, key: Key, hashed: Hashed) -> None:
        with self._lock:
            self._cache[key] = hashed
            if len(self._cache) > HASH_CACHE_MAX:
                self._cache.popitem(last=False)
