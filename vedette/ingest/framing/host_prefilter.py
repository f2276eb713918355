"""A guess at the host of a record, from its text alone.

To decode a record costs many times what a guess does, and whoever shares records out needs no more
than that: mostly the same for all records of a host. So this takes what follows the first
member that any format names hosts by, as it stands there.
"""

from collections.abc import Sequence
from typing import Final

from vedette.ingest.decode import native

_MEMBERS: Final = (
    *("computer_name", "Computer", "NODE", "node", "node_name", "hostIdentifier"),
    *("hostname", "Hostname", "HostName", "HOSTNAME", "host", "machine_id"),
)
"""The most telling first: where a collector names itself too, the host comes before it."""

_BEGINNINGS: Final = (
    *(f'"{member}":{space}"'.encode() for member in _MEMBERS for space in ("", " ")),
    *(f'"host":{space}{{"name":{space}"'.encode() for space in ("", " ")),
    *(b"<Computer>", b"node=", b"machineid="),
)

_PREFIX_BYTES: Final = 8
"""Texts of one request that begin alike name their hosts alike."""

_NAME_BYTES_MAX: Final = 256
_ENDS: Final = frozenset(b'"< ,}|\n')


def likely_hosts(texts: Sequence[bytes]) -> list[bytes]:
    """For each text of a request what is mostly the name of its host; b"" where nothing is."""
    beginnings = {native.PREFIX[:_PREFIX_BYTES]: b'"host":"'}
    names: list[bytes] = []
    for text in texts:
        beginning = beginnings.get(text[:_PREFIX_BYTES])
        at = -1 if beginning is None else text.find(beginning)
        if beginning is None or at < 0:
            beginning, at = _first_beginning(text)
            if beginning:
                beginnings.setdefault(text[:_PREFIX_BYTES], beginning)
        at += len(beginning)
        end = text.find(b'"', at, at + _NAME_BYTES_MAX) if beginning.endswith(b'"') else -1
        names.append(text[at:end] if end >= 0 else _up_to_an_end(text, at))
    return names


def _first_beginning(text: bytes) -> tuple[bytes, int]:
    """What stands before the name, and where; where nothing does, all of the text."""
    for beginning in _BEGINNINGS:
        at = text.find(beginning)
        if at >= 0:
            return beginning, at
    return b"", len(text)


def _up_to_an_end(text: bytes, at: int) -> bytes:
    """A name that nothing quotes."""
    rest = text[at : at + _NAME_BYTES_MAX]
    return rest[: next((n for n, byte in enumerate(rest) if byte in _ENDS), len(rest))]
