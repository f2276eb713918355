"""Scans the text of a record for time, number and host without decoding it, which would take
several times as long. Sorting needs no more. Hand-written for speed; `tests/unit/importer` compares
it with decoding.
"""

import re

from vedette.ingest.decode.eventlog import lower_host
from vedette.ingest.times import time_us
from vedette.limits import Limit

HEADER_RECORD_ID_BYTES: Limit[int] = 1_024
"""Bytes of a record that are searched for its record number. The number only orders records with
the same time, so missing it does no harm."""

HEADER_RECORD_ID_CHARS_MAX: Limit[int] = 16
"""Characters that are searched for the end of a record number. Numbers of 48 bits have 15
digits."""


_UTC_TIME = b'"UtcTime"'
_BEATS = b'{"@timestamp":'
_RECORD_ID_NAMES = (b'"EventRecordID"', b'"RecordNumber"', b'"record_number"', b'"record_id"')
_RECORD_ID_NAMES_OF_BEATS = _RECORD_ID_NAMES[::-1]
"""The result depends on the record alone, not on earlier ones: other processes may scan them."""

_RECORD_ID = re.compile(rb'"\s*:\s*"?(\d{1,14})[",}\s]')
_COLON = ord(":")

_EVENT_MEMBERS = b'"SystemTime":"', b'"Computer":"'
_GET_WIN_EVENT_MEMBERS = b'"TimeCreated":"', b'"Hostname":"'
_OTHER_ENVELOPES = (b'"SourceModuleType"', b'"EventReceivedTime"', b'"winlog"', b'"message":"type=')
"""Members of formats that share members with Get-WinEvent but have another time or host."""


def event_time_us(piece: bytes) -> int:
    """Returns the `UtcTime` of a JSON text or XML element in epoch microseconds; 0 if it has
    none."""
    at = piece.find(_UTC_TIME)
    if at < 0:
        return 0
    at += len(_UTC_TIME)
    if piece[at : at + 2] == b':"':
        written = piece[at + 2 : at + 25]
    else:
        written = piece[at : at + 35].lstrip(b" :>").lstrip(b'"')[:23]
    try:
        return time_us(written.decode("ascii"))
    except UnicodeDecodeError:
        return 0


def envelope(piece: bytes) -> tuple[int, str] | None:
    """Returns the time (epoch microseconds) and host from common envelopes; None for all others."""
    if not piece.startswith(b"{"):
        return None
    is_event = piece.startswith(b'{"Event"')
    time_name, host_name = _EVENT_MEMBERS if is_event else _GET_WIN_EVENT_MEMBERS
    # Each search goes over all bytes; most records without a common envelope lack the first.
    at = piece.find(time_name)
    host_at = piece.find(host_name) if at >= 0 else -1
    if host_at < 0 or b"\n" in piece:
        return None
    if not is_event and any(mark in piece for mark in _OTHER_ENVELOPES):
        return None
    at += len(time_name)
    host_at += len(host_name)
    host = piece[host_at : piece.find(b'"', host_at)]
    try:
        moment_us = time_us(piece[at : piece.find(b'"', at, at + 48)].decode("ascii"))
        return (moment_us, lower_host(host.decode("ascii"))) if moment_us and host else None
    except UnicodeDecodeError:
        return None


def record_id(piece: bytes) -> int:
    """Returns the number of a record in its log; 0 if none is found."""
    names = _RECORD_ID_NAMES_OF_BEATS if piece.startswith(_BEATS) else _RECORD_ID_NAMES
    for name in names:
        at = piece.find(name, 0, HEADER_RECORD_ID_BYTES)
        if at >= 0:
            break
    else:
        return 0
    at += len(name)
    written = piece[at + 1 : piece.find(b",", at, at + HEADER_RECORD_ID_CHARS_MAX)]
    if written.isdigit() and piece[at] == _COLON and len(written) < HEADER_RECORD_ID_CHARS_MAX - 1:
        return int(written)
    found = _RECORD_ID.match(piece, at - 1)
    return int(found[1]) if found else 0
