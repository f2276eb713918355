"""Decoder of EVTX converted to JSON: `Event.System`, `Event.EventData` or `Event.UserData`.

Attributes are separate objects, GUIDs have no braces, and `EventID` may be an object with
qualifiers. The importer converts EVTX files to this form; `decode_typed` is the fast path for it.
"""

from typing import Any

from msgspec import DecodeError, Struct, field
from msgspec.json import Decoder

from vedette.ingest.channels import canonical
from vedette.ingest.decode.eventlog import (
    flat_data,
    keywords_text,
    lower_host,
    make_record,
    small_level,
    small_pid,
    small_record_id,
)
from vedette.ingest.record import Record
from vedette.ingest.times import time_us

MARK = b'"Event"'


class _TimeAttributes(Struct, gc=False):
    time: str = field(name="SystemTime")


class _Time(Struct, gc=False):
    attributes: _TimeAttributes = field(name="#attributes")


class _ProcessAttributes(Struct, gc=False):
    pid: int = field(name="ProcessID", default=0)


class _Execution(Struct, gc=False):
    attributes: _ProcessAttributes = field(name="#attributes")


class _ProviderAttributes(Struct, gc=False):
    name: str = field(name="Name", default="")


class _Provider(Struct, gc=False):
    attributes: _ProviderAttributes = field(name="#attributes")


class _Qualified(Struct, gc=False):
    """Event id of a legacy provider, with qualifiers."""

    number: int = field(name="#text")


class _System(Struct, gc=False):
    provider: _Provider = field(name="Provider")
    event_id: int | _Qualified = field(name="EventID")
    created: _Time = field(name="TimeCreated")
    record_id: int = field(name="EventRecordID")
    channel: str = field(name="Channel")
    computer: str = field(name="Computer")
    execution: _Execution | None = field(name="Execution", default=None)
    level: int = field(name="Level", default=0)
    keywords: str = field(name="Keywords", default="")


class _Event(Struct, gc=False):
    system: _System = field(name="System")
    data: dict[str, str | int | float | bool | None] = field(name="EventData")


class _Document(Struct, gc=False):
    event: _Event = field(name="Event")


_decoder = Decoder(_Document)


def decode_typed(raw: bytes) -> Record | None:
    """Returns the record of a document with plain named event data; None for any other."""
    try:
        return _record(_decoder.decode(raw).event)
    except DecodeError:
        return None


def _record(event: _Event) -> Record | None:
    system = event.system
    envelope_us = time_us(system.created.attributes.time)
    host = lower_host(system.computer)
    written = system.event_id
    event_id = written if isinstance(written, int) else written.number
    if not envelope_us or not host or not 0 <= event_id <= 0xFFFF:
        return None
    execution = system.execution
    provider = system.provider.attributes.name
    return Record(
        "windows",
        host,
        envelope_us,
        canonical(system.channel, provider),
        event_id,
        small_record_id(system.record_id),
        provider,
        0 if execution is None else small_pid(execution.attributes.pid),
        event.data,
        small_level(system.level),
        keywords_text(system.keywords),
    )


def recognises(obj: dict[str, Any]) -> bool:
    event = obj.get("Event")
    return isinstance(event, dict) and isinstance(event.get("System"), dict)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time."""
    event = obj["Event"]
    system = event["System"]
    return [
        make_record(
            host=system.get("Computer"),
            times=(_attribute(system, "TimeCreated", "SystemTime"),),
            channel=system.get("Channel"),
            event_id=system.get("EventID"),
            record_id=system.get("EventRecordID"),
            provider=_attribute(system, "Provider", "Name"),
            pid=_attribute(system, "Execution", "ProcessID"),
            data=flat_data(event.get("UserData")) | flat_data(event.get("EventData")),
            level=system.get("Level"),
            keywords=system.get("Keywords"),
        )
    ]


def _attribute(system: dict[str, Any], element: str, name: str) -> Any:
    holder = system.get(element)
    if not isinstance(holder, dict):
        return holder
    attributes = holder.get("#attributes", holder)
    return attributes.get(name) if isinstance(attributes, dict) else None
