"""Hashes of files, remembered by device, inode, size and times; read at a bounded rate.

A file that changes keeps its inode but not its times, so what is remembered is never stale
(`stat` is asked every time). Files above the limit, and files for which there is no budget
left, have no hash: that is reported as missing, never guessed.
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
    HASH_BURST_BYTES,
    HASH_BYTES_MAX,
    HASH_BYTES_PER_S,
    HASH_CACHE_MAX,
    HASH_CHUNK,
)
from .file_type import HEAD_BYTES, file_type

Key = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Hashed:
    """What a file's content is; hexadecimal hashes, `file_type` of api.md 2.6 or 0."""

    md5: str
    sha256: str
    size: int
    inode: int
    file_type: int


def key_of(status: os.stat_result) -> Key:
    """Changes whenever the content may have changed."""
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
    """md5, sha256, size and first bytes of an open file; None when it took too long or the
    file cannot be read."""
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
        head = head or chunk[:HEAD_BYTES]
        md5.update(chunk)
        sha256.update(chunk)
        at += len(chunk)


class TokenBucket:
    """So many bytes a second, and a burst; safe for threads."""

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
    """Hashes by path; safe for threads."""

    def __init__(self, on_new: Callable[[str, Hashed], None] | None = None) -> None:
        """`on_new` is told of every file that was hashed for the first time."""
        self._known: OrderedDict[Key, Hashed] = OrderedDict()
        self._lock = threading.Lock()
        self._budget = TokenBucket()
        self._on_new = on_new
        self.skipped = 0
        """Files that were not hashed: too large, or no budget left."""

    def of(self, path: str) -> Hashed | None:
        """The hashes of a regular file, None when it is gone or was left out."""
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode) or not status.st_size:
                return None
            key = key_of(status)
            with self._lock:
                known = self._known.get(key)
            return known or self._read(path, key)
        except (OSError, ValueError):  # gone, or a name that no file can have
            return None

    def _read(self, path: str, key: Key) -> Hashed | None:
        if key[2] > HASH_BYTES_MAX or not self._budget.take(key[2]):
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
            self._known[key] = hashed
            if len(self._known) > HASH_CACHE_MAX:
                self._known.popitem(last=False)
