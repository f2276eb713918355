"""Estimates the host of a record from its undecoded text, for sharding by host.

The estimate may be wrong, as long as records of a host mostly get the same estimate. Uses the value
of the first member that any format uses for a host name.
"""

from collections.abc import Sequence
from typing import Final

from vedette.ingest.decode import native
from vedette.limits import Limit

HOST_PREFILTER_PREFIX_BYTES: Limit[int] = 8
"""Length (bytes) of the prefix by which texts of a request are grouped. Texts with the same prefix
name their host in the same member."""

HOST_PREFILTER_NAME_BYTES_MAX: Limit[int] = 256
"""Maximum bytes that are searched for the end of a host name. Host names have at most 255."""


_MEMBERS: Final = (
    "computer_name",
    "Computer",
    "NODE",
    "node",
    "node_name",
    "hostIdentifier",
    "hostname",
    "Hostname",
    "HostName",
    "HOSTNAME",
    "host",
    "machine_id",
    "DeviceName",
    "computer",
)
"""Most specific first: the logging host precedes the collector."""

_BEGINNINGS: Final = (
    *(f'"{member}":{space}"'.encode() for member in _MEMBERS for space in ("", " ")),
    *(f'"host":{space}{{"name":{space}"'.encode() for space in ("", " ")),
    b"<Computer>",
    b"node=",
    b"machineid=",
    b'"agent":{"id":"',
)


_ENDS: Final = frozenset(b'"< ,}|\n')


def likely_hosts(texts: Sequence[bytes]) -> list[bytes]:
    """Returns the estimated host name of each text of a request; b"" if none."""
    beginnings = {native.PREFIX[:HOST_PREFILTER_PREFIX_BYTES]: b'"host":"'}
    names: list[bytes] = []
    for text in texts:
        beginning = beginnings.get(text[:HOST_PREFILTER_PREFIX_BYTES])
        at = -1 if beginning is None else text.find(beginning)
        if beginning is None or at < 0:
            beginning, at = _first_beginning(text)
            if beginning:
                beginnings.setdefault(text[:HOST_PREFILTER_PREFIX_BYTES], beginning)
        at += len(beginning)
        end = (
            text.find(b'"', at, at + HOST_PREFILTER_NAME_BYTES_MAX)
            if beginning.endswith(b'"')
            else -1
        )
        names.append(text[at:end] if end >= 0 else _up_to_an_end(text, at))
    return names


def _first_beginning(text: bytes) -> tuple[bytes, int]:
    """Returns the text before the name and its index; b"" and the text's length if there is
    none."""
    for beginning in _BEGINNINGS:
        at = text.find(beginning)
        if at >= 0:
            return beginning, at
    return b"", len(text)


def _up_to_an_end(text: bytes, at: int) -> bytes:
    """Returns an unquoted name, up to a delimiter."""
    rest = text[at : at + HOST_PREFILTER_NAME_BYTES_MAX]
    return rest[: next((n for n, byte in enumerate(rest) if byte in _ENDS), len(rest))]
