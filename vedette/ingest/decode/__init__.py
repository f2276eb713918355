"""Decodes bytes into records, one module per wire format. `formats.py` defines the order.

Three high-volume formats are recognized by their first bytes and decoded into typed structs. All
other formats are decoded into a dict and recognized by their members. A record that no format
recognizes is rejected with `unknown_format`.
"""

import json
import re
from itertools import chain
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder

from vedette.ingest.decode import auditd, auoms, eventxml, evtx_json, native, shipper, winlogbeat
from vedette.ingest.decode.formats import possible_formats
from vedette.ingest.decode.syslog_header import header_end
from vedette.ingest.host_clock import clock_of_document
from vedette.ingest.record import Record, RecordError, unknown_format
from vedette.limits import RECORD_BYTES_MAX, RECORD_NESTING_MAX, Limit

TEXT_SHOWN_BYTES: Limit[int] = 120
"""Maximum bytes of a text that is quoted in the error that it is not a record: enough for the head
of a log line."""

FORMAT_MARK_BYTES: Limit[int] = 256
"""Bytes at the start of a record that are searched for the marks of high-volume formats."""


WRAPPERS: tuple[str, ...] = ("_source", "result")
"""Members that contain the record in exports of other stores."""

_LOG_LINES = (
    (re.compile(r"santad: |\[\d{4}-\d\d-\d\dT\S{1,32} \w santad"), "a line of Santa's log"),
    (re.compile(r"audit\(|^(?:node=\S{1,255} )?type=[A-Z0-9_]{3}"), "an audit line"),
)
"""Patterns of log lines, also of lines with a truncated head, and a description of the log."""

_WRONG_TYPE = (TypeError, AttributeError, ValueError, KeyError, IndexError)
"""Errors of decoders for members of a wrong type. Decoders only check the members by which they
recognize a format."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


_TEXT_MEMBERS = frozenset({*shipper.TEXT_MEMBERS, *eventxml.MEMBERS, *WRAPPERS})

_decoder = Decoder()


def decode(raw: bytes, host: str = "") -> list[Record]:
    """Returns the records of a JSON text or an `<Event>` element, usually one. `host` overrides the
    host of all.

    Raises RecordError with the reason not_json, not_an_object, too_deep, too_large, bad_text,
    bad_xml, bad_line, bad_event, bad_process, no_host, no_time, bad_time or unknown_format.
    """
    if len(raw) > RECORD_BYTES_MAX and len(raw.rstrip()) > RECORD_BYTES_MAX:
        raise RecordError("too_large", f"a record of {len(raw)} bytes; {RECORD_BYTES_MAX} at most")
    try:
        record = _decode_typed(raw)
        records = _decode_any(raw, host) if record is None else [record]
    except RecursionError as error:
        raise RecordError("too_deep", "the record is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise RecordError("bad_text", f"not UTF-8: {error}") from error
    except _WRONG_TYPE as error:
        raise RecordError("bad_event", "a field has a wrong type or is missing") from error
    if host:
        for record in records:
            record.host = host
    return records


def _decode_typed(raw: bytes) -> Record | None:
    """Returns the record of a high-volume format; None for other formats and for most malformed
    text. Raises RecordError, UnicodeDecodeError or RecursionError."""
    if raw.startswith(native.PREFIX):
        return native.decode(raw)
    if raw.startswith(winlogbeat.PREFIX) or raw.find(winlogbeat.MARK, 0, FORMAT_MARK_BYTES) >= 0:
        return winlogbeat.decode_typed(raw)
    return evtx_json.decode_typed(raw) if raw.find(evtx_json.MARK, 0, 32) >= 0 else None


def _decode_any(raw: bytes, host: str) -> list[Record]:
    try:
        obj = _decoder.decode(raw)
    except DecodeError as error:
        if raw.lstrip()[:1] == b"<":
            return eventxml.decode_text(raw)
        obj = _salvage(raw, error)
    if host and isinstance(obj, dict):
        obj.setdefault("hostname", host)
    return decode_object(obj, raw)


def decode_object(obj: Any, raw: bytes = b"") -> list[Record]:
    """Returns the records of a JSON value. `raw` is its text, used to check the nesting."""
    if not isinstance(obj, dict):
        raise RecordError("not_an_object", "a record must be a JSON object")
    possible = possible_formats(obj)
    for one in possible:
        if not one.is_text and one.recognises(obj):
            if not one.is_flat:
                _check_nesting(obj, raw)
            found = one.decode(obj, raw) if one.asks_text else one.decode(obj)
            return _with_clock(found, obj)
    _check_nesting(obj, raw)
    for name in WRAPPERS:
        if isinstance(obj.get(name), dict):
            return decode_object(obj[name])
    carried = shipper.inner_of(obj)
    if carried is not None and _is_known(carried[0]):
        return decode_object(carried[0], carried[1].encode())
    for one in possible:
        if one.is_text and one.recognises(obj):
            return _with_clock(one.decode(obj), obj)
    raise unknown_format(obj if carried is None else carried[0])


def _with_clock(records: list[Record], obj: dict[str, Any]) -> list[Record]:
    """Adds the host's time zone to the records if the shipper's document contains it."""
    for record in records:
        record.host_clock = record.host_clock or clock_of_document(record.host, obj)
    return records


def audit_text_of(obj: dict[str, Any]) -> str:
    """Returns the text of a record that `decode_object` would decode as Linux audit lines; "" for
    any other record."""
    text = auditd.text_of(obj)
    if (
        not text
        or "vedette_record" in obj
        or any(isinstance(obj.get(name), dict) for name in WRAPPERS)
    ):
        return ""
    possible = possible_formats(obj)
    if possible[0].is_text and len(_TEXT_MEMBERS.intersection(obj)) == 1:
        return "" if auoms.begins_line(text) else text  # common case, without the further checks
    for one in possible:
        if one.decode is auditd.decode:
            break
        if one.recognises(obj):
            return ""
    carried = shipper.inner_of(obj)
    return "" if carried is not None and _is_known(carried[0]) else text


def _is_known(obj: dict[str, Any]) -> bool:
    """Whether any format recognizes an object, or an object that it wraps or carries."""
    if any(one.recognises(obj) for one in possible_formats(obj)):
        return True
    if any(isinstance(obj.get(name), dict) for name in WRAPPERS):
        return True
    carried = shipper.inner_of(obj)
    return carried is not None and _is_known(carried[0])


def _check_nesting(value: Any, raw: bytes) -> None:
    """Raises RecordError too_deep if the value exceeds RECORD_NESTING_MAX. `raw` is its text."""
    # `replace` takes a quarter of the time of `count`.
    opened = len(raw) - len(raw.replace(b"{", b"").replace(b"[", b""))
    if opened <= RECORD_NESTING_MAX:
        return
    level: list[Any] = [value]
    for _ in range(RECORD_NESTING_MAX):
        level = list(chain.from_iterable(map(_children, level)))
        if not level:
            return
    raise RecordError("too_deep", f"the record is nested over {RECORD_NESTING_MAX} levels")


def _children(value: Any) -> list[Any]:
    items = value.values() if isinstance(value, dict) else value
    return [item for item in items if isinstance(item, dict | list)]


def _salvage(raw: bytes, error: DecodeError) -> Any:
    r"""Returns the JSON value of a text with lone surrogates (`\ud800`), which Windows file names
    may contain, replaced by U+FFFD. Rejecting such records would let an attacker hide behind a file
    name."""
    if _SURROGATE.search(raw) is None:
        raise _no_record(raw, error) from error
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except ValueError as still:
        raise RecordError("not_json", str(still)) from still
    text = json.dumps(value, ensure_ascii=False)
    return _decoder.decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _no_record(raw: bytes, error: DecodeError) -> RecordError:
    """Returns the error for a text that is not a record, according to the format that it starts
    like."""
    begin = raw[:TEXT_SHOWN_BYTES].lstrip()
    text = begin.decode("utf-8", "replace")
    for line, name in _LOG_LINES:
        if text[:1] not in ("{", '"') and line.search(text[header_end(text) :]):
            return RecordError("bad_line", f"{name} without a whole head: {text!r}")
    if text[:1] in ("{", "[", '"'):
        return RecordError("not_json", str(error))
    return RecordError("not_json", f"neither JSON, nor XML, nor a known log line: {text!r}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
