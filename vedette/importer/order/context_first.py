"""Moves records that others depend on to the front of each batch of records.

The server reads the context of a whole request before it normalizes it, so the order within a
request does not matter. The order of requests does: a connection that Security logs with only a pid
may come before the first record with the ProcessGuid of that pid. So records with context are sent
first in each batch: starts and ends of processes, logons, connections, DNS answers, and the first
record that names a ProcessGuid. Records about the host itself are sent before these, so that they
apply to all its processes. Within these classes, and among all other records, the order of events
is kept.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from vedette.ingest.decode import native
from vedette.limits import IMPORT_CHUNK_BYTES, IMPORT_CHUNK_RECORDS, Limit

IMPORT_AHEAD_BYTES: Limit[int] = 4 * IMPORT_CHUNK_BYTES
"""Bytes of records that the importer reads ahead to find records that explain others. Enough for
the logs of an incident, and little enough that the server still keeps the processes in them
(HOST_PROCESSES_MAX)."""


Placed = tuple[bytes, tuple[int, int]]
"""A record, and its file and position."""

_CONTEXT_IDS = frozenset({b"1", b"3", b"5", b"22", b"4624", b"4688", b"4689", b"5156"})
"""Event ids of Sysmon and Security that have context. In other channels these ids do no harm."""

_HOST_IDS = frozenset({b"4768", b"4769", b"4770"})
"""Event ids of Security that only a domain controller logs (`normalise/windows.py`)."""

_ID_NAMES = (b'EventID"', b'event_id"')
_ID_NAMES_SNAKE_FIRST = _ID_NAMES[::-1]
_SNAKE_CASE = (b'{"@timestamp":', native.PREFIX)
"""Prefixes of records whose envelope is in snake case, even if their event data is not."""

_ID_ELEMENT = re.compile(rb"<EventID[^<>]{0,64}>\s*(\d{1,5})\b")
_ID = re.compile(rb"[^\d,}]{0,64}?(\d{1,5})\b")
_GUID_BEGIN = b"ProcessG"
_GUID_REST = re.compile(rb'(?:uid|UID)"\s*[:>]\s*"?\{?([0-9A-Fa-f-]{36})')


def order_by_context(records: Iterable[Placed]) -> Iterator[Placed]:
    """The same records, reordered within batches of IMPORT_AHEAD_BYTES. Records that fit into one
    request are not reordered."""
    batch = _Batch()
    for placed in records:
        batch.add(placed)
        if batch.byte_count >= IMPORT_AHEAD_BYTES:
            yield from batch.ordered()
            batch = _Batch()
    records = batch.records
    if len(records) <= IMPORT_CHUNK_RECORDS and batch.byte_count <= IMPORT_CHUNK_BYTES:
        yield from records
    else:
        yield from batch.ordered()


class _Batch:
    """A batch of records, classified as they are added, while they are in the processor's cache."""

    def __init__(self) -> None:
        self.byte_count = 0
        self.records: list[Placed] = []
        self._host_records: list[Placed] = []
        self._context: list[Placed] = []
        self._rest: list[Placed] = []
        self._named: set[bytes] = set()

    def add(self, placed: Placed) -> None:
        record = placed[0]
        self.byte_count += len(record)
        self.records.append(placed)
        is_first = self._is_first_guid(record)
        event_id = _event_id(record)
        if event_id in _HOST_IDS:
            self._host_records.append(placed)
        elif is_first or event_id in _CONTEXT_IDS:
            self._context.append(placed)
        else:
            self._rest.append(placed)

    def ordered(self) -> Iterator[Placed]:
        return chain(self._host_records, self._context, self._rest)

    def _is_first_guid(self, record: bytes) -> bool:
        """Whether a record is the first of the batch with one of its ProcessGuids."""
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
