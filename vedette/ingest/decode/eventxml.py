"""Decoder of `<Event>` XML: EVTX and forwarded events, Splunk lines, Sysmon for Linux in syslog.

Parses events alone or inside a member of a JSON record. Document types and entities are rejected
before parsing: real events have none, and they allow file access and memory exhaustion.
"""

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree  # safe behind `_parse`, which rejects DTDs and entities

from vedette.ingest.decode.eventlog import make_record
from vedette.ingest.decode.syslog_header import header_end
from vedette.ingest.record import Record, RecordError
from vedette.limits import SYSLOG_PREAMBLE_BYTES_MAX

MEMBERS: tuple[str, ...] = (
    "SyslogMessage",
    "message",
    "Message",
    "msg",
    "EventData",
    "System",
    "Xml",
    "XML",
    "event",
    "raw",
    "_raw",
    "log",
)
"""Members of JSON records that may contain a whole event."""

_END = "</Event>"
_DATA_ENDS = (_END, "</EventData>", "<EventData/>", "</UserData>")
_FORBIDDEN = ("<!DOCTYPE", "<!ENTITY")
_NOT_XML = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
    r"|&#(?:x0*(?:[0-8bcef]|1[0-9a-f])|0*(?:[0-8]|1[124-9]|2\d|3[01]));",
    re.IGNORECASE,
)
"""Characters forbidden in XML 1.0, plain or as references. Windows writes them anyway."""


def recognises(obj: dict[str, Any]) -> bool:
    return _find(obj) is not None


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: bad_xml, no_host, no_time, bad_time."""
    found = _find(obj)
    return [] if found is None else [parse_event(found)]


def decode_text(raw: bytes) -> list[Record]:
    """Decodes an `<Event>` element as UTF-8 text. Raises RecordError, also bad_text.

    Rejects an element that is truncated in its data, because the rest may be in another line or
    body. A truncated element in a member of a record is decoded as far as possible.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise RecordError("bad_text", f"not UTF-8: {error}") from error
    if _event_start(text) >= 0 and not any(end in text for end in _DATA_ENDS):
        part = "EventData" if "</System>" in text else "System"
        raise RecordError("bad_xml", f"the event is cut short in {part}, after {len(raw)} bytes")
    return [parse_event(text)]


def parse_event(text: str) -> Record:
    """Returns the record of the single `<Event>` in a text."""
    start = _event_start(text)
    if start < 0:
        raise RecordError("unknown_format", "XML without an Event element")
    end = text.rfind(_END)
    whole = text[start : end + len(_END)] if end > start else text[start:]
    try:
        event = _parse(whole)
        data = _event_data(event)
    except ElementTree.ParseError:
        event, data = _salvage(whole)
    system = next((child for child in event if _local(child) == "System"), None)
    if system is None:
        raise RecordError("unknown_format", "an Event without System")
    parts = {_local(child): child for child in system}
    return make_record(
        host=_text(parts, "Computer"),
        times=(_attribute(parts, "TimeCreated", "SystemTime"),),
        channel=_text(parts, "Channel"),
        event_id=_text(parts, "EventID"),
        record_id=_text(parts, "EventRecordID"),
        provider=_attribute(parts, "Provider", "Name"),
        pid=_attribute(parts, "Execution", "ProcessID"),
        data=data,
        level=_text(parts, "Level"),
        keywords=_text(parts, "Keywords"),
    )


def parse_data(text: str) -> dict[str, Any]:
    """Returns the event data of an XML fragment that contains `<EventData>`, `<UserData>`, or only
    `<Data>` or `<Param>` elements.

    Raises RecordError bad_xml.
    """
    try:
        root = _parse(f"<fragment>{text}</fragment>")
    except ElementTree.ParseError as error:
        raise RecordError("bad_xml", f"not XML: {error}") from error
    data: dict[str, Any] = {}
    for element in root.iter():
        match _local(element):
            case "EventData" | "fragment":
                _read_items(element, data)
            case "UserData":
                data.update((_local(item), item.text or "") for part in element for item in part)
    return data


def _find(obj: dict[str, Any]) -> str | None:
    for name in MEMBERS:
        value = obj.get(name)
        if isinstance(value, str) and "<Event" in value and _begins_event(value):
            return value
    return None


def _begins_event(text: str) -> bool:
    """Whether a text starts with an Event, after an optional XML declaration or syslog header."""
    begin = 0 if text.startswith("<Event") else header_end(text)
    if text.startswith("<?xml", begin):
        begin = text.find("<", begin + 1, begin + SYSLOG_PREAMBLE_BYTES_MAX)
    return begin >= 0 and text.startswith(("<Event>", "<Event "), begin)


def _event_start(text: str) -> int:
    starts = [place for place in (text.find("<Event>"), text.find("<Event ")) if place >= 0]
    return min(starts, default=-1)


def _parse(text: str) -> "ElementTree.Element[str]":
    """Raises ParseError, and RecordError for declarations."""
    upper = text.upper() if "<!" in text else ""
    if any(word in upper for word in _FORBIDDEN):
        raise RecordError("bad_xml", "an event must not declare a document type or entities")
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - guarded above
    except ElementTree.ParseError:
        return ElementTree.fromstring(_NOT_XML.sub("\ufffd", text))  # noqa: S314


def _salvage(text: str) -> "tuple[ElementTree.Element[str], dict[str, Any]]":
    """Returns `System` and event data of an event that is not well-formed.

    Sysmon for Linux escapes badly (`&lt unknown`), and syslog truncates long messages. `System`
    must be complete; event data are read as far as possible. The first value of a name wins, so a
    command line cannot replace an earlier field.
    """
    head, mark, rest = text.partition("</System>")
    if not mark:
        raise RecordError("bad_xml", f"the event ends in System, after {len(text)} characters")
    try:
        event = _parse(f"{head}{mark}</Event>")
    except ElementTree.ParseError as error:
        raise RecordError("bad_xml", f"not XML: {error}") from error
    data: dict[str, Any] = {}
    for item in rest.split("<Data Name=")[1:]:
        name, mark, value = item[1:].partition(item[:1] + ">")
        if mark:
            data.setdefault(name, unescape(value.partition("</Data>")[0]))
    return event, data


def _event_data(event: "ElementTree.Element[str]") -> dict[str, Any]:
    data: dict[str, Any] = {}
    for part in event:
        match _local(part):
            case "EventData":
                _read_items(part, data)
            case "UserData":
                for holder in part:
                    for item in holder:
                        data[_local(item)] = item.text or ""
    return data


def _read_items(holder: "ElementTree.Element[str]", data: dict[str, Any]) -> None:
    unnamed = 0
    for item in holder:
        if _local(item) not in {"Data", "Param"}:
            continue
        name = item.get("Name")
        if name is None:
            unnamed += 1
            name = f"param{unnamed}"
        data[name] = item.text or ""


def _local(element: "ElementTree.Element[str]") -> str:
    return element.tag.rpartition("}")[2]


def _text(parts: "dict[str, ElementTree.Element[str]]", name: str) -> str:
    element = parts.get(name)
    return "" if element is None else (element.text or "").strip()


def _attribute(parts: "dict[str, ElementTree.Element[str]]", name: str, attribute: str) -> str:
    element = parts.get(name)
    return "" if element is None else element.get(attribute, "")
