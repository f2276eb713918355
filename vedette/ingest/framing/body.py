"""Splits a request body into records, each one JSON text or one `<Event>` element.

`split_body` reads an array, one object per line, concatenated or indented objects, XML events, and
lines of audit.log or Santa's log. A broken piece stays in its place for `decode` to reject: its
index is its position.
"""

import codecs

import msgspec

from vedette.ingest.decode import auditd, santa
from vedette.ingest.framing.audit_events import MARK, assemble_records
from vedette.ingest.framing.record_boundaries import split_pieces
from vedette.limits import SYSLOG_PREAMBLE_BYTES_MAX

_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_NO_PREAMBLE = frozenset(b"{}\"'=\n")
"""Bytes of JSON, audit and Santa lines: an Event after one of them is part of a value, not of a
line with a syslog header."""

_TEXT_MARKS = (b"audit(", b"santad: action=")


def split_body(body: bytes, host: str = "") -> list[bytes]:
    """Records of a body, in order.

    `host` applies to log lines that do not name their host.
    """
    text = as_utf8(body)
    records = _array(text)
    if records is None:
        pieces, _ = split_pieces(text)
        records = [_record(piece, host) for piece in pieces]
    if MARK in text:
        records, _ = assemble_records(records)
    return records


def as_utf8(data: bytes) -> bytes:
    """Text as UTF-8 without a byte order mark; UTF-16 is converted."""
    if data.startswith(codecs.BOM_UTF8):
        return data[3:]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode()
    return data


def text_record(line: bytes, host: str = "") -> bytes | None:
    """JSON record of an audit or Santa log line, as a shipper would send it; None for any other
    line."""
    if not any(mark in line for mark in _TEXT_MARKS):
        return None
    text = line.decode("utf-8", "replace")
    is_audit = line.startswith((b"type=", b"node=")) or auditd.begins_line(text)
    if not is_audit and not santa.begins_line(text):
        return None
    fields = {"message": text}
    if host:
        fields["hostname"] = host
    return msgspec.json.encode(fields)


def without_preamble(piece: bytes) -> bytes:
    """An XML event without its syslog header; any other piece unchanged."""
    if _is_record(piece):
        return piece
    start = piece.find(b"<Event", 0, SYSLOG_PREAMBLE_BYTES_MAX)
    if start < 0 or b"</Event>" not in piece:
        return piece
    preamble = piece[:start]
    return piece if any(byte in _NO_PREAMBLE for byte in preamble) else piece[start:]


def _record(piece: bytes, host: str) -> bytes:
    piece = without_preamble(piece)
    return piece if _is_record(piece) else text_record(piece, host) or piece


def _is_record(piece: bytes) -> bool:
    """Whether a piece begins as JSON or XML, and not as a syslog line (`<13>`)."""
    return piece[:1] == b"{" or (piece[:1] == b"<" and not piece[1:2].isdigit())


def _array(text: bytes) -> list[bytes] | None:
    """Elements of a body that is one JSON array; None for any other body."""
    if text[:64].lstrip()[:1] != b"[":
        return None
    try:
        return [bytes(element) for element in _ARRAY.decode(text)]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
