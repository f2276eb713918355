"""Decompression of zstd files that notices where a file is cut short.

The decompressor of the package ends silently at the end of its input. So the boundaries of frames
and blocks (RFC 8878, 3.1) are followed in the compressed bytes while it reads them.
"""

import io
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Final

import zstandard

from vedette.limits import ZSTD_WINDOW_BYTES_MAX

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_MAGIC: Final = 0xFD2FB528
_SKIPPABLE: Final = 0x184D2A50
_RLE: Final = 1


class Unzstd(io.RawIOBase):
    """The content of any number of frames. Raises EOFError when the last of them is truncated, and
    ZstdError for damage."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._frames = _FollowedFrames(inner)
        inflater = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
        compressed: Any = self._frames  # it has all that the decompressor calls
        self._stream = inflater.stream_reader(compressed, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        view[: len(data)] = data
        if view and not data and not self._frames.is_whole:
            raise EOFError("the zstd stream is cut short")
        return len(data)


class _FollowedFrames(io.RawIOBase):
    """Passes compressed bytes on, and follows the boundaries of frames in them."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._part = b""
        """The beginning of the head that is read next."""
        self._wanted = 4
        """Bytes of that head."""
        self._next: Callable[[bytes], None] = self._magic
        self._skip = 0
        """Bytes of content before that head."""
        self._has_checksum = False
        self.is_whole = False
        """Whether the bytes so far end with a complete frame. Always true after damage, which the
        decompressor reports."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._inner.read(len(view)) or b""
        view[: len(data)] = data
        self._follow(data)
        return len(data)

    def _follow(self, data: bytes) -> None:
        at = 0
        while at < len(data) and self._wanted:
            skipped = min(self._skip, len(data) - at)
            self._skip -= skipped
            at += skipped
            if self._skip or at == len(data):
                break
            taken = data[at : at + self._wanted - len(self._part)]
            self._part += taken
            at += len(taken)
            if len(self._part) == self._wanted:
                head, self._part = self._part, b""
                self._next(head)
        if self._wanted:
            is_between = self._next == self._magic and not self._part
            self.is_whole = is_between and not self._skip

    def _magic(self, head: bytes) -> None:
        magic = int.from_bytes(head, "little")
        if magic == _MAGIC:
            self._wanted, self._next = 1, self._descriptor
        elif magic & ~0xF == _SKIPPABLE:
            self._wanted, self._next = 4, self._skippable
        else:
            self._wanted, self.is_whole = 0, True

    def _skippable(self, head: bytes) -> None:
        self._skip = int.from_bytes(head, "little")
        self._wanted, self._next = 4, self._magic

    def _descriptor(self, head: bytes) -> None:
        flags = head[0]
        is_single = flags >> 5 & 1
        self._has_checksum = bool(flags >> 2 & 1)
        self._skip = (
            (0 if is_single else 1) + (0, 1, 2, 4)[flags & 3] + (is_single, 2, 4, 8)[flags >> 6]
        )
        self._wanted, self._next = 3, self._block

    def _block(self, head: bytes) -> None:
        value = int.from_bytes(head, "little")
        self._skip = 1 if value >> 1 & 3 == _RLE else value >> 3
        if value & 1:
            self._skip += 4 * self._has_checksum
            self._wanted, self._next = 4, self._magic
