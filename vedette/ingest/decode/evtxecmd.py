"""Decoder of KAPE's EvtxECmd: JSON, one object per event, and rows of its CSV.

`Payload` contains the event data as JSON of the event's XML. `PayloadData1` to `PayloadData6` are
descriptions that EvtxECmd's maps derive from it; they are read only if there is no payload.
"""

from typing import Any

import msgspec

from vedette.ingest.decode.eventlog import flat_data, has_event_data, make_record, text
from vedette.ingest.record import Record, RecordError, unknown_format

_LEVELS = {
    "logalways": 0,
    "critical": 1,
    "error": 2,
    "warning": 3,
    "info": 4,
    "information": 4,
    "informational": 4,
    "verbose": 5,
}


def recognises(obj: dict[str, Any]) -> bool:
    return "EventId" in obj and "RecordNumber" in obj and "Channel" in obj and "TimeCreated" in obj


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time, not_json (a damaged payload), unknown_format
    (event data of an unknown shape)."""
    level = obj.get("Level")
    record = make_record(
        host=obj.get("Computer"),
        times=(obj.get("TimeCreated"),),
        channel=obj.get("Channel"),
        event_id=obj.get("EventId"),
        record_id=obj.get("EventRecordId"),
        provider=obj.get("Provider"),
        pid=obj.get("ProcessId"),
        data=_data(obj),
        level=_LEVELS.get(text(level).lower(), level),
        keywords=obj.get("Keywords"),
    )
    if not has_event_data(record):
        raise unknown_format(obj, "no event data in a record of EvtxECmd with")
    return [record]


def _data(obj: dict[str, Any]) -> dict[str, Any]:
    payload = obj.get("Payload")
    if payload in (None, "", "{}"):
        return {name: obj[name] for name in obj if name.startswith("PayloadData")}
    if isinstance(payload, str):
        try:
            payload = msgspec.json.decode(payload)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RecordError("not_json", f"the payload: {error}") from error
    if not isinstance(payload, dict):
        raise unknown_format(obj, "the payload is no object in a record of EvtxECmd with")
    found = flat_data(_plain(payload.get("UserData")))
    return found | _event_data(payload.get("EventData"))


def _event_data(holder: Any) -> dict[str, Any]:
    """Returns data by name. A single item is an object, several are a list. Values without names
    are a text, or a list of texts."""
    items = holder.get("Data") if isinstance(holder, dict) else holder
    items = items if isinstance(items, list) else [items]
    data: dict[str, Any] = {}
    unnamed = 0
    for item in items:
        if isinstance(item, dict):
            name = text(item.get("@Name"))
            if name:
                data[name] = text(item.get("#text"))
        elif item not in (None, ""):
            unnamed += 1
            data[f"param{unnamed}"] = text(item)
    return data


def _plain(value: Any) -> Any:
    """Returns user data without the attributes of its elements."""
    if not isinstance(value, dict):
        return value
    return {name: _plain(item) for name, item in value.items() if not name.startswith("@")}
