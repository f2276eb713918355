"""Bounded decompression of request bodies: gzip, zlib and zstd.

Output never exceeds the limit by more than one step, whatever the header declares.
"""

import io
import zlib
from typing import Protocol

import zstandard

from vedette.errors import BadRequestError, TooLargeError
from vedette.limits import (
    BODY_INFLATED_BYTES_MAX,
    COMPRESSED_MEMBERS_MAX,
    INFLATE_PIECE_BYTES,
    INFLATE_STEP_BYTES,
    INFLATE_ZSTD_PIECE_BYTES,
    ZSTD_WINDOW_BYTES_MAX,
)

_GZIP_WBITS = 31
_EITHER_WBITS = 47
"""Detects gzip or zlib by header: some senders confuse the two encodings."""


def inflate(body: bytes, encoding: str, limit: int = BODY_INFLATED_BYTES_MAX) -> bytes:
    """Decompress a body (`gzip`, `deflate`, `zstd`, `identity` or "").

    Raises TooLargeError beyond `limit` bytes, BadRequestError for unsupported encodings and damaged
    or truncated data.
    """
    match encoding.strip().lower():
        case "" | "identity":
            if len(body) > limit:
                raise _too_large(limit)
            return body
        case "gzip" | "x-gzip" | "deflate":
            return _inflate_zlib(body, limit)
        case "zstd":
            return _inflate_zstd(body, limit)
        case other:
            raise BadRequestError(
                f"Content-Encoding {other[:40]!r} is not served; gzip, deflate and zstd are",
                reason="bad_encoding",
            )


def check_inflated_size(body: bytes, encoding: str, limit: int) -> None:
    """Raises what `inflate` raises for a compressed body, and keeps nothing of the output: freeing
    130 MB of a bomb takes 15 ms under the interpreter lock."""
    match encoding.strip().lower():
        case "gzip" | "x-gzip" | "deflate":
            _inflate_members(body, limit, _Counted())
        case "zstd":
            _inflate_frames(body, limit, _Counted())


class _Output(Protocol):
    """Takes inflated bytes."""

    def write(self, piece: bytes, /) -> int: ...

    def tell(self) -> int: ...


class _Counted:
    """Counts what is written."""

    def __init__(self) -> None:
        self._size = 0

    def write(self, piece: bytes, /) -> int:
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._size


def _inflate_zlib(body: bytes, limit: int) -> bytes:
    out = io.BytesIO()  # gives its bytes away without a copy
    _inflate_members(body, limit, out)
    return out.getvalue()


def _inflate_members(body: bytes, limit: int, out: _Output) -> None:
    view = memoryview(body)
    position = 0
    for _ in range(COMPRESSED_MEMBERS_MAX):
        wbits = _EITHER_WBITS if position == 0 else _GZIP_WBITS
        position = _inflate_member(view, position, wbits, out, limit)
        if position == len(body) or _is_padding(view[position:]):
            return
    raise _too_many()


def _is_padding(rest: memoryview) -> bool:
    """Whether only zero bytes follow, which some senders fill their last block with. Looks at the
    first byte alone where a further member begins, and copies at most once a body."""
    return rest[0] == 0 and not bytes(rest).strip(b"\0")


def _inflate_member(view: memoryview, position: int, wbits: int, out: _Output, limit: int) -> int:
    """Decompress one member into `out`, in steps; returns the offset of the next."""
    inflater = zlib.decompressobj(wbits)
    is_drained = True
    try:
        while not inflater.eof:
            piece: bytes | memoryview = inflater.unconsumed_tail
            if not piece and is_drained:
                piece = view[position : position + INFLATE_PIECE_BYTES]
                position += len(piece)
                if not piece:
                    raise _damaged("it ends too early")
            made = inflater.decompress(piece, INFLATE_STEP_BYTES)
            is_drained = len(made) < INFLATE_STEP_BYTES
            out.write(made)
            if out.tell() > limit:
                raise _too_large(limit)
    except zlib.error as error:
        raise _damaged(str(error)) from error
    return position - len(inflater.unused_data)


def _inflate_zstd(body: bytes, limit: int) -> bytes:
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
    whole = _inflate_frame(decompressor, body, limit)
    if whole:
        return whole
    out = io.BytesIO()
    _inflate_frames(body, limit, out)
    return out.getvalue()


def _inflate_frame(
    decompressor: zstandard.ZstdDecompressor, body: bytes, limit: int
) -> bytes | None:
    """Fast path: a single frame that declares its size. None for all others."""
    try:
        if not 0 < zstandard.frame_content_size(body) <= limit:
            return None
        return decompressor.decompress(body, allow_extra_data=False)
    except zstandard.ZstdError:
        return None


def _inflate_frames(body: bytes, limit: int, out: _Output) -> None:
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES_MAX)
    view = memoryview(body)
    position = 0
    for _ in range(COMPRESSED_MEMBERS_MAX):
        inflater = decompressor.decompressobj()
        try:
            while not inflater.eof:
                piece = view[position : position + INFLATE_ZSTD_PIECE_BYTES]
                position += len(piece)
                if not piece:
                    raise _damaged("it ends too early")
                out.write(inflater.decompress(piece))
                if out.tell() > limit:
                    raise _too_large(limit)
        except zstandard.ZstdError as error:
            raise _damaged(str(error)) from error
        position -= len(inflater.unused_data)
        if position == len(body):
            return
    raise _too_many()


def _too_many() -> BadRequestError:
    return BadRequestError(
        f"more than {COMPRESSED_MEMBERS_MAX} compressed members", reason="bad_compression"
    )


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"the body has more than {limit} bytes after decompression")


def _damaged(what: str) -> BadRequestError:
    return BadRequestError(f"the compressed body is damaged: {what}", reason="bad_compression")
