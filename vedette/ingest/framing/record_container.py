"""Splits containers of records, as Azure writes them to event hubs: an object with a list
`records`."""

import msgspec

from vedette.limits import Limit

CONTAINER_MARK_BYTES: Limit[int] = 64
"""Bytes at the start of an object that are searched for its first member name, to recognize a
container."""


CONTAINER_MARK = b'"records"'


class _Container(msgspec.Struct):
    records: list[msgspec.Raw]


_decoder = msgspec.json.Decoder(_Container)


def contained_records(piece: bytes) -> list[bytes] | None:
    """Returns the records of a container; None for any other piece. Checks only the first member,
    so that text inside a record cannot make it a container."""
    head = piece[:CONTAINER_MARK_BYTES].split(b":", 1)[0]
    if head[:1] != b"{" or head[1:].strip() != CONTAINER_MARK:
        return None
    try:
        return [bytes(record) for record in _decoder.decode(piece).records]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
