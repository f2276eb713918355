"""Decoding of bytes into records, one module per wire format; `formats.py` has the order.

Three high-volume formats are recognised by their first bytes and decoded into typed structs. All
others are decoded into a dict and recognised by their members. A record that no format recognises
is rejected with `unknown_format`.
"""

import json
import re
from itertools import chain
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder

from vedette.ingest.decode import auditd, auoms, eventxml, evtx_json, native, shipper, winlogbeat
from vedette.ingest.decode.formats import possible_formats
from vedette.ingest.record import Record, RecordError, unknown_format
from vedette.limits import RECORD_BYTES_MAX, RECORD_NESTING_MAX

WRAPPERS: tuple[str, ...] = ("_source", "result")
"""Members that hold the record in exports of other stores."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

MARK_BYTES_MAX = 256
"""Bytes in which the marks of high-volume formats are searched."""

_TEXT_MEMBERS = frozenset({*shipper.TEXT_MEMBERS, *eventxml.MEMBERS, *WRAPPERS})

_decoder = Decoder()


def decode(raw: bytes, host: str = "") -> list[Record]:
    """Records of one JSON text or one `<Event>` element; mostly one. `host` overrides the host of
    all.

    Raises RecordError with the reason not_json, not_an_object, too_deep, too_large, bad_text,
    bad_xml, no_host, no_time, bad_time or unknown_format.
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
    if host:
        for record in records:
            record.host = host
    return records


def _decode_typed(raw: bytes) -> Record | None:
    """Record of a high-volume format; None for other formats and mostly for broken text. Raises
    RecordError, UnicodeDecodeError or RecursionError."""
    if raw.startswith(native.PREFIX):
        return native.decode(raw)
    if raw.startswith(winlogbeat.PREFIX) or raw.find(winlogbeat.MARK, 0, MARK_BYTES_MAX) >= 0:
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
    """Records of a JSON value; `raw` is its text, used to check nesting."""
    if not isinstance(obj, dict):
        raise RecordError("not_an_object", "a record is a JSON object")
    possible = possible_formats(obj)
    for one in possible:
        if not one.is_text and one.recognises(obj):
            if not one.is_flat:
                _check_nesting(obj, raw)
            return one.decode(obj, raw) if one.asks_text else one.decode(obj)
    _check_nesting(obj, raw)
    for name in WRAPPERS:
        if isinstance(obj.get(name), dict):
            return decode_object(obj[name])
    carried = shipper.inner_of(obj)
    if carried is not None and _is_known(carried[0]):
        return decode_object(carried[0], carried[1].encode())
    for one in possible:
        if one.is_text and one.recognises(obj):
            return one.decode(obj)
    raise unknown_format(obj if carried is None else carried[0])


def audit_text_of(obj: dict[str, Any]) -> str:
    """Text of a record that `decode_object` would decode as Linux audit lines; "" for any other
    record."""
    text = auditd.text_of(obj)
    if (
        not text
        or "vedette_record" in obj
        or any(isinstance(obj.get(name), dict) for name in WRAPPERS)
    ):
        return ""
    possible = possible_formats(obj)
    if possible[0].is_text and len(_TEXT_MEMBERS.intersection(obj)) == 1:
        return "" if auoms.begins_line(text) else text  # the common case, without all the rest
    for one in possible:
        if one.decode is auditd.decode:
            break
        if one.recognises(obj):
            return ""
    carried = shipper.inner_of(obj)
    return "" if carried is not None and _is_known(carried[0]) else text


def _is_known(obj: dict[str, Any]) -> bool:
    """Whether any format recognises an object, or what it wraps or carries."""
    if any(one.recognises(obj) for one in possible_formats(obj)):
        return True
    if any(isinstance(obj.get(name), dict) for name in WRAPPERS):
        return True
    carried = shipper.inner_of(obj)
    return carried is not None and _is_known(carried[0])


def _check_nesting(value: Any, raw: bytes) -> None:
    """Raise RecordError too_deep if the value exceeds RECORD_NESTING_MAX; `raw` is its text."""
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
    r"""The JSON value of a text with lone surrogates (`\ud800`), which Windows file names may
    hold: they become U+FFFD. Refusing them would let an attacker hide behind a file name."""
    if _SURROGATE.search(raw) is None:
        raise RecordError("not_json", str(error)) from error
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except ValueError as still:
        raise RecordError("not_json", str(still)) from still
    text = json.dumps(value, ensure_ascii=False)
    return _decoder.decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
