"""Decoder of Azure Log Analytics rows of the tables `Event`, `SecurityEvent` and `WindowsEvent`.

`EventData` is XML in `Event`, and an object or JSON text in `WindowsEvent`. In `SecurityEvent` the
event data are columns of the row, with additional XML for events without columns. `Syslog` rows
carry a log line; `eventxml` and `auoms` decode them.
"""

from typing import Any

import msgspec

from vedette.ingest.channels import canonical
from vedette.ingest.decode.eventlog import flat_data, has_event_data, make_record, text
from vedette.ingest.decode.eventxml import parse_data
from vedette.ingest.record import Record, RecordError, unknown_format

_TABLES = frozenset({"Event", "SecurityEvent", "WindowsEvent"})
_COLUMNS = frozenset({"TenantId", "EventLog", "EventData", "EventSourceName", "EventRecordId"})
"""Columns that distinguish these rows from other flat records with `EventID` and `Computer`."""


def recognises(obj: dict[str, Any]) -> bool:
    if "EventID" not in obj or "Computer" not in obj:
        return False
    table = obj.get("Type")
    return (isinstance(table, str) and table in _TABLES) or (
        "TimeGenerated" in obj and not _COLUMNS.isdisjoint(obj)
    )


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time, bad_xml, not_json, unknown_format (event data
    of an unknown shape, or neither channel nor provider)."""
    provider = obj.get("Provider") or obj.get("Source") or obj.get("EventSourceName")
    channel = obj.get("EventLog") or obj.get("Channel")
    record = make_record(
        host=obj.get("Computer"),
        times=(obj.get("TimeGenerated"), obj.get("TimeCreated"), obj.get("EventTime")),
        channel=channel,
        event_id=obj.get("EventID"),
        record_id=obj.get("EventRecordId") or obj.get("EventRecordID"),
        provider=provider,
        pid=obj.get("SystemProcessId"),
        data=_data(obj),
        level=obj.get("EventLevel") or obj.get("Level"),
        keywords=obj.get("Keywords") or obj.get("SystemKeywords"),
    )
    if not canonical(text(channel), text(provider)) or not has_event_data(record):
        raise unknown_format(obj, "no event data in a row of Azure Log Analytics with")
    return [record]


def _data(obj: dict[str, Any]) -> dict[str, Any]:
    """Returns event data by name; the row itself if no column holds event data."""
    for name in ("EventData", "RawEventData", "ParameterXml"):
        data = _parsed(obj, name)
        if data:
            has_columns = "EventSourceName" in obj or obj.get("Type") == "SecurityEvent"
            return (
                {k: v for k, v in obj.items() if v not in (None, "")} | data
                if has_columns
                else data
            )
    return obj


def _parsed(obj: dict[str, Any], name: str) -> dict[str, Any]:
    value = obj.get(name)
    if value in (None, ""):
        return {}
    if isinstance(value, str):
        if value.lstrip()[:1] == "<":
            return parse_data(value)
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError as error:
            raise RecordError("not_json", f"{name} is neither XML nor JSON: {error}") from error
    if not isinstance(value, dict | list):
        raise unknown_format(obj, f"{name} is not event data in a row with")
    return _by_name(value)


def _by_name(value: Any) -> dict[str, Any]:
    """Returns the event data of an object, or of XML converted to JSON: lists of name and value."""
    for holder in ("Event", "EventData", "UserData"):
        inner = value.get(holder) if isinstance(value, dict) else None
        if isinstance(inner, dict | list):
            return _by_name(inner)
    items = value.get("Data") if isinstance(value, dict) else value
    if isinstance(items, list) and all(isinstance(item, dict) for item in items):
        pairs = [(_member(item, "Name"), _member(item, "#text", "Value")) for item in items]
        return {str(name): found for name, found in pairs if name is not None}
    return flat_data(value)


def _member(item: dict[str, Any], *names: str) -> Any:
    """Returns the value of the first of these members, spelled `Name`, `@Name`, `-Name` or
    `name`."""
    for name in names:
        for written in (name, f"@{name}", f"-{name}", name.lower()):
            if written in item:
                return item[written]
    return None
