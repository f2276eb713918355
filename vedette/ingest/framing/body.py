"""Splits a request body into records. Each is a JSON text or an `<Event>` element.

`split_body` reads an array, one object per line, concatenated or indented objects, containers of
records, XML events, lines of audit, Santa and text logs, and CSV tables. A malformed piece keeps
its place, so that the index of every record is its position; `decode` rejects it.
"""

import codecs
import re

import msgspec

from vedette.ingest.decode import auditd, santa
from vedette.ingest.decode.logs import text_log
from vedette.ingest.framing import w3c_log
from vedette.ingest.framing.audit_events import MARK, assemble_records
from vedette.ingest.framing.csv_table import CsvTable
from vedette.ingest.framing.record_boundaries import split_pieces
from vedette.ingest.framing.record_container import CONTAINER_MARK, contained_records
from vedette.limits import SYSLOG_PREAMBLE_BYTES_MAX

_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_NO_PREAMBLE = frozenset(b"{}\"'=\n")
"""Bytes of JSON, audit and Santa lines. An Event after one of them is part of a value, not of a
line with a syslog header."""

_EVENT_START = re.compile(rb"<Event[\s>]")
_TEXT_MARKS = (b"audit(", b"santad: action=")


def split_body(body: bytes, host: str = "") -> list[bytes]:
    """Returns the records of a body, in order.

    `host` applies to log lines that do not name their host.
    """
    text = as_utf8(body)
    records = _array(text)
    if records is None:
        table = CsvTable.of(text)
        pieces, _ = split_pieces(text) if table is None else table.split(text)
        if w3c_log.MARK in text:
            pieces = w3c_log.w3c_records(pieces, host)
        records = [_record(piece, host) for piece in pieces]
    if CONTAINER_MARK in text:
        records = [one for record in records for one in contained_records(record) or (record,)]
    if MARK in text:
        records, _ = assemble_records(records)
    return records


def as_utf8(data: bytes) -> bytes:
    """Returns the text as UTF-8 without a byte order mark. Converts UTF-16."""
    if data.startswith(codecs.BOM_UTF8):
        return data[3:]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode()
    return data


def text_record(line: bytes, host: str = "") -> bytes | None:
    """Returns the JSON record of a line of an audit, Santa or text log, as a shipper would send it;
    None for any other line."""
    text = line.decode("utf-8", "replace")
    is_own = any(mark in line for mark in _TEXT_MARKS) and (
        auditd.begins_line(text) or santa.begins_line(text)
    )
    if not is_own and not text_log.begins_line(text):
        return None
    fields = {"message": text}
    if host:
        fields["hostname"] = host
    return msgspec.json.encode(fields)


def without_preamble(piece: bytes) -> bytes:
    """Removes the syslog header from a complete or truncated XML event. Returns other pieces
    unchanged."""
    if _is_record(piece):
        return piece
    found = _EVENT_START.search(piece, 0, SYSLOG_PREAMBLE_BYTES_MAX)
    if found is None:
        return piece
    start = found.start()
    preamble = piece[:start]
    return piece if any(byte in _NO_PREAMBLE for byte in preamble) else piece[start:]


def _record(piece: bytes, host: str) -> bytes:
    piece = without_preamble(piece)
    return piece if _is_record(piece) else text_record(piece, host) or piece


def _is_record(piece: bytes) -> bool:
    """Whether a piece starts as JSON or XML, and not as a syslog line (`<13>`)."""
    return piece[:1] == b"{" or (piece[:1] == b"<" and not piece[1:2].isdigit())


def _array(text: bytes) -> list[bytes] | None:
    """Returns the elements of a body that is a single JSON array; None for any other body."""
    if text[:64].lstrip()[:1] != b"[":
        return None
    try:
        return [bytes(element) for element in _ARRAY.decode(text)]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
