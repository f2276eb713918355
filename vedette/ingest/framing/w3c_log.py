"""Turns the lines of W3C extended logs (IIS) into JSON records.

The line `#Fields:` names the columns of the lines after it; the other header lines are dropped. A
line with another number of columns stays as it is, so that `decode` rejects it.
"""

from typing import Final

import msgspec

from vedette.ingest.decode.logs.text_log import W3C_MEMBER
from vedette.limits import Limit

W3C_FIELDS_MAX: Limit[int] = 64
"""Maximum columns of a W3C log. IIS has 22, and custom fields."""

MARK: Final = b"#Fields:"
_HEADERS: Final = (b"#Software:", b"#Version:", b"#Date:")
_REQUEST: Final = {"cs-method", "cs-uri-stem", "date", "time"}


def w3c_records(pieces: list[bytes], host: str = "") -> list[bytes]:
    """Returns the pieces of a body with the lines of W3C logs of web servers replaced."""
    fields: list[str] | None = None
    found: list[bytes] = []
    for piece in pieces:
        if piece.startswith(MARK):
            names = piece[len(MARK) :].decode("utf-8", "replace").split()
            is_web = len(names) <= W3C_FIELDS_MAX and set(map(str.lower, names)) >= _REQUEST
            fields = names if is_web else None
            if fields is None:
                found.append(piece)
        elif piece.startswith(_HEADERS):
            continue
        else:
            record = _record(piece, fields, host) if fields is not None else None
            found.append(record or piece)
    return found


def _record(piece: bytes, fields: list[str], host: str) -> bytes | None:
    if piece[:1] in (b"{", b"<"):
        return None
    values = piece.decode("utf-8", "replace").split(" ")
    if len(values) != len(fields):
        return None
    record: dict[str, object] = {W3C_MEMBER: dict(zip(fields, values, strict=True))}
    if host:
        record["hostname"] = host
    return msgspec.json.encode(record)
