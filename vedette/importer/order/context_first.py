"""Which records go first, because they explain others.

The server learns from a whole request before it makes events of it, so within one request the
order does not matter. A sequence of many requests has an edge between any two: a connection that
Security tells by pid only may lie before the first record with the ProcessGuid of that pid. So
of every stretch of records those that teach are sent first: starts and ends of processes, logons,
connections, DNS answers, and the first record that names a ProcessGuid. Before these go those that
tell of a host as a whole, so that all its processes show it. All others keep the order of their
events, and so do these among themselves.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from vedette.ingest.decode import native
from vedette.limits import IMPORT_AHEAD_BYTES, IMPORT_CHUNK_BYTES, IMPORT_CHUNK_RECORDS

Placed = tuple[bytes, tuple[int, int]]
"""A record, and its file and position."""

_TEACHING = frozenset({b"1", b"3", b"5", b"22", b"4624", b"4688", b"4689", b"5156"})
"""Event ids of Sysmon and Security; what another channel means by them does no harm."""

_OF_HOSTS = frozenset({b"4768", b"4769", b"4770"})
"""Event ids of Security that only a domain controller logs (`normalise/windows.py`)."""

_ID_NAMES = (b'EventID"', b'event_id"')
_ID_NAMES_SNAKE_FIRST = _ID_NAMES[::-1]
_SNAKE_CASE = (b'{"@timestamp":', native.PREFIX)
"""How records begin whose own members are in snake case, whatever those of their event data are."""

_ID_ELEMENT = re.compile(rb"<EventID[^<>]{0,64}>\s*(\d{1,5})\b")
_ID = re.compile(rb"[^\d,}]{0,64}?(\d{1,5})\b")
_GUID_BEGIN = b"ProcessG"
_GUID_REST = re.compile(rb'(?:uid|UID)"\s*[:>]\s*"?\{?([0-9A-Fa-f-]{36})')


def teaching_first(records: Iterable[Placed]) -> Iterator[Placed]:
    """The same records, of each stretch of IMPORT_AHEAD_BYTES those that teach first. What fits
    into one request stays as it is."""
    stretch = _Stretch()
    for placed in records:
        stretch.add(placed)
        if stretch.byte_count >= IMPORT_AHEAD_BYTES:
            yield from stretch.parted()
            stretch = _Stretch()
    records = stretch.records
    if len(records) <= IMPORT_CHUNK_RECORDS and stretch.byte_count <= IMPORT_CHUNK_BYTES:
        yield from records
    else:
        yield from stretch.parted()


class _Stretch:
    """Records, of which each is looked at as it comes: soon it is in no cache any more."""

    def __init__(self) -> None:
        self.byte_count = 0
        self.records: list[Placed] = []
        self._of_hosts: list[Placed] = []
        self._teaching: list[Placed] = []
        self._rest: list[Placed] = []
        self._named: set[bytes] = set()

    def add(self, placed: Placed) -> None:
        record = placed[0]
        self.byte_count += len(record)
        self.records.append(placed)
        names_new = self._names_new(record)
        event_id = _event_id(record)
        if event_id in _OF_HOSTS:
            self._of_hosts.append(placed)
        elif names_new or event_id in _TEACHING:
            self._teaching.append(placed)
        else:
            self._rest.append(placed)

    def parted(self) -> Iterator[Placed]:
        return chain(self._of_hosts, self._teaching, self._rest)

    def _names_new(self, record: bytes) -> bool:
        """Whether a record is the first to name a ProcessGuid."""
        named, new = self._named, False
        at = record.find(_GUID_BEGIN)
        while at >= 0:
            at += len(_GUID_BEGIN)
            found = _GUID_REST.match(record, at)
            if found and found[1] not in named:
                named.add(found[1])
                new = True
            at = record.find(_GUID_BEGIN, at)
        return new


def _event_id(record: bytes) -> bytes:
    for name in _ID_NAMES_SNAKE_FIRST if record.startswith(_SNAKE_CASE) else _ID_NAMES:
        at = record.find(name)
        if at >= 0:
            found = _ID.match(record, at + len(name))
            return found[1] if found else b""
    element = _ID_ELEMENT.search(record) if record[:1] == b"<" else None
    return element[1] if element else b""
