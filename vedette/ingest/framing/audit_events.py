"""Reassembles Linux audit events whose lines arrive as separate records.

audit.log has up to a dozen lines per event, and shippers send each line as a record. Lines of a
request that belong to the same event become one record of the native format, at the position of the
first.
"""

from typing import Any

import msgspec

from vedette.ingest.decode import audit_text_of, auditd, shipper
from vedette.ingest.decode.auditd import AuditLine
from vedette.ingest.record import RecordError

MARK = b"udit("
"""Prefilter: part of `audit(`, which every audit line contains. Five bytes, because CPython
searches for six or more bytes with a slower method."""

_Key = tuple[str, str, int, int]


def assemble_records(records: list[bytes]) -> tuple[list[bytes], list[int]]:
    """Returns the records with audit lines merged, and, for every input record, the index of its
    merged record."""
    events = _Events()
    out: list[bytes] = []
    places: list[int] = []
    for record in records:
        keys = events.add(record) if MARK in record else []
        known = [events.places[key] for key in keys if key in events.places]
        place = known[0] if known else len(out)
        if not known:
            out.append(record)
        for key in keys:
            events.places.setdefault(key, place)
        places.append(place)
    for place, assembled in events.assembled():
        out[place] = assembled
    return out, places


class _Events:
    """Audit lines grouped by event."""

    def __init__(self) -> None:
        self.places: dict[_Key, int] = {}
        self._lines: dict[_Key, list[AuditLine]] = {}

    def add(self, record: bytes) -> list[_Key]:
        """Adds the audit lines of a record. Returns its keys. Records with lines of several events
        are left unchanged for `decode`."""
        obj = _object(record)
        text = "" if obj is None else audit_text_of(obj)
        if obj is None or not text:
            return []
        host = shipper.host_of(obj)
        lines = auditd.parse_records(text)
        keys = {(host, line.node, line.time_us, line.serial) for line in lines}
        if len(keys) != 1 or not (host or lines[0].node):
            return []
        key = keys.pop()
        self._lines.setdefault(key, []).extend(lines)
        return [key]

    def assembled(self) -> list[tuple[int, bytes]]:
        """Returns index and record of each event."""
        out: list[tuple[int, bytes]] = []
        for key, lines in self._lines.items():
            try:
                record = auditd.assemble(lines, key[0])
            except RecordError:
                continue  # `decode` reports the error of the first line
            out.append((self.places[key], msgspec.json.encode(record)))
        return out


def _object(record: bytes) -> dict[str, Any] | None:
    try:
        obj = msgspec.json.decode(record)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return obj if isinstance(obj, dict) else None
