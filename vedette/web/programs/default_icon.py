"""Default icon of programs: a window with a title bar, drawn in code."""

import struct
import zlib
from functools import cache
from typing import Final

_SIDE: Final = 32
_FRAME, _BAR, _PANE, _NOTHING = "#", "=", ".", " "
_COLOURS: Final = {
    _FRAME: bytes((70, 84, 104, 255)),
    _BAR: bytes((92, 124, 172, 255)),
    _PANE: bytes((238, 241, 246, 255)),
    _NOTHING: bytes(4),
}


def _pixel(x: int, y: int) -> str:
    if not (2 <= x <= 29 and 4 <= y <= 27):
        return _NOTHING
    if x in {2, 29} or y in {4, 27}:
        return _FRAME
    return _BAR if y < 10 else _PANE


@cache
def default_icon() -> bytes:
    """Returns a PNG of 32 x 32 pixels."""
    rows = (b"".join(_COLOURS[_pixel(x, y)] for x in range(_SIDE)) for y in range(_SIDE))
    lines = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", lines), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
