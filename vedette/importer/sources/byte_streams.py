"""Streams that files and archive members are read from: decompression with a limit on its output,
and ranges of a file on disk."""

import io
import os
import tarfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TypeAlias

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    Stream: TypeAlias = io.BufferedReader[Any]
else:
    Stream = io.BufferedReader

from vedette.limits import Limit

ARCHIVE_MEMBERS_MAX: Limit[int] = 100_000
"""Files in one archive. Triage collections have a few thousand."""

ARCHIVE_RATIO_MAX: Limit[int] = 200
"""Maximum ratio of an archive's decompressed size to its own size. Logs reach 100, decompression
bombs 1,000 and more."""

ARCHIVE_INFLATED_BYTES_MIN: Limit[int] = 256 * 1024 * 1024
"""Bytes that every archive may decompress to, even if this exceeds ARCHIVE_RATIO_MAX: the ratio of
empty logs has no bound."""

MEMBER_MEMORY_BYTES_MAX: Limit[int] = 1024 * 1024 * 1024
"""Bytes of a member that has to be held in memory completely: an EVTX log or a zip within an
archive."""

GZIP_READ_BYTES: Limit[int] = 128 * 1024
"""Compressed bytes per read of a gzip stream; they decompress to a few MB at most."""

MEMBER_READ_BYTES: Limit[int] = 8 * 1024 * 1024
"""Bytes per read of a member that is read completely. A buffer of the size of the largest member
would cost more."""


_GZIP_WBITS = 31
GZIP_MAGIC = b"\x1f\x8b"

DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    zstandard.ZstdError,
    EOFError,
    OSError,
    RuntimeError,  # an encrypted member, or a method of compression that is not known
    ValueError,
)


class BombError(Exception):
    """An archive decompresses to more than its budget."""


class Budget:
    """Bytes that an archive may still decompress to, and members it may still have."""

    def __init__(self, archive_bytes: int) -> None:
        self._left = max(ARCHIVE_INFLATED_BYTES_MIN, ARCHIVE_RATIO_MAX * archive_bytes)
        self._members = ARCHIVE_MEMBERS_MAX

    def spend(self, byte_count: int) -> None:
        self._left -= byte_count
        if self._left < 0:
            raise BombError(f"it inflates to over {ARCHIVE_RATIO_MAX} times its size")

    def spend_member(self) -> None:
        self._members -= 1
        if self._members < 0:
            raise BombError(f"it has more than {ARCHIVE_MEMBERS_MAX} members")


Inner: TypeAlias = IO[bytes] | io.RawIOBase


class CountedStream(io.RawIOBase):
    """A stream whose bytes are counted against a budget. Raises BombError."""

    def __init__(self, inner: Inner, budget: Budget) -> None:
        self._inner = inner
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._inner.read(len(view)) or b""
        view[: len(data)] = data
        self._budget.spend(len(data))
        return len(data)


class Unbounded(Budget):
    """Budget for members of a tar, which are stored uncompressed."""

    def spend(self, byte_count: int) -> None:
        pass


UNBOUNDED = Unbounded(0)


class FileSlice(io.RawIOBase):
    """A range of a file on disk. Raises EOFError when the file is shorter."""

    def __init__(self, descriptor: int, begin: int, end: int) -> None:
        self._descriptor = descriptor
        self._offset = begin
        self._left = end - begin

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)[: self._left]
        count = os.preadv(self._descriptor, [view], self._offset) if view else 0
        if view and not count:
            raise EOFError("the file is cut short")
        self._offset += count
        self._left -= count
        return count


class Gunzip(io.RawIOBase):
    """A gzip stream with any number of members. Trailing bytes that are not a member are ignored,
    as in gzip(1); some public archives have them. Raises EOFError when it is truncated."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._inflater = zlib.decompressobj(_GZIP_WBITS)
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._inflate(len(view))
        view[: len(data)] = data
        return len(data)

    def _inflate(self, size: int) -> bytes:
        while True:
            if self._inflater.eof and not self._next_member():
                return b""
            held = self._held or self._inner.read(GZIP_READ_BYTES)
            if not held:
                raise EOFError("the gzip stream is cut short")
            data = self._inflater.decompress(held, size)
            self._held = self._inflater.unconsumed_tail
            if self._inflater.eof:
                self._held = self._inflater.unused_data
            if data:
                return data

    def _next_member(self) -> bool:
        while len(self._held) < len(GZIP_MAGIC):
            more = self._inner.read(GZIP_READ_BYTES)
            if not more:
                return False
            self._held += more
        if not self._held.startswith(GZIP_MAGIC):
            return False
        self._inflater = zlib.decompressobj(_GZIP_WBITS)
        return True


def read_all(stream: BinaryIO) -> io.BytesIO:
    """The content of a stream in memory. Raises ValueError above MEMBER_MEMORY_BYTES_MAX."""
    parts: list[bytes] = []
    left = MEMBER_MEMORY_BYTES_MAX
    while part := stream.read(min(MEMBER_READ_BYTES, left + 1)):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise ValueError(
                f"a member of over {MEMBER_MEMORY_BYTES_MAX} bytes has to be unpacked first"
            )
    return io.BytesIO(parts[0] if len(parts) == 1 else b"".join(parts))
