"""File types by magic number, with the codes of docs/api-objects.md#process-events."""

from __future__ import annotations

_EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR"
_OFFICE_PARTS = (b"[Content_Types].xml", b"_rels/.rels", b"word/", b"xl/", b"ppt/")

_STARTS: tuple[tuple[bytes, int], ...] = (
    (b"MZ", 1),
    (b"\x7fELF", 2),
    (b"\xca\xfe\xba\xbe", 3),
    (b"\xcf\xfa\xed\xfe", 3),
    (b"\xce\xfa\xed\xfe", 3),
    (_EICAR, 8),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 16),
    (b"%PDF-", 48),
    (b"PK\x05\x06", 64),
    (b"\x1f\x9d", 66),
    (b"Rar!\x1a\x07", 67),
    (b"7z\xbc\xaf\x27\x1c", 69),
)
_ZIP = b"PK\x03\x04"


def file_type(head: bytes) -> int:
    """Returns the code for a file that starts with `head`; 0 for other types."""
    for start, number in _STARTS:
        if head.startswith(start):
            return number
    if head.startswith(_ZIP):
        return 17 if any(head[30:].startswith(part) for part in _OFFICE_PARTS) else 64
    if head[2:5] == b"-lh" or head[2:5] == b"-lz":
        return 65
    return 68 if head[257:262] == b"ustar" else 0
