"""Estimates the host of a record from its text without decoding it, for sharding by host.

A wrong estimate is allowed, as long as records of one host mostly get the same one. Takes the value
of the first member that any format uses for a host name.
"""

from collections.abc import Sequence
from typing import Final

from vedette.ingest.decode import native

_MEMBERS: Final = (
    *("computer_name", "Computer", "NODE", "node", "node_name", "hostIdentifier"),
    *("hostname", "Hostname", "HostName", "HOSTNAME", "host", "machine_id"),
)
"""Most specific first: the logging host precedes the collector."""

_BEGINNINGS: Final = (
    *(f'"{member}":{space}"'.encode() for member in _MEMBERS for space in ("", " ")),
    *(f'"host":{space}{{"name":{space}"'.encode() for space in ("", " ")),
    *(b"<Computer>", b"node=", b"machineid="),
)

_PREFIX_BYTES: Final = 8
"""Texts of one request with the same first bytes name their host in the same member."""

_NAME_BYTES_MAX: Final = 256
_ENDS: Final = frozenset(b'"< ,}|\n')


def likely_hosts(texts: Sequence[bytes]) -> list[bytes]:
    """Estimated host name of each text of a request; b"" if none."""
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
    """The text before the name and its index; b"" and the text's length if not found."""
    for beginning in _BEGINNINGS:
        at = text.find(beginning)
        if at >= 0:
            return beginning, at
    return b"", len(text)


def _up_to_an_end(text: bytes, at: int) -> bytes:
    """An unquoted name, up to a delimiter."""
    rest = text[at : at + _NAME_BYTES_MAX]
    return rest[: next((n for n, byte in enumerate(rest) if byte in _ENDS), len(rest))]
