"""Decoder of Winlogbeat and Elastic Agent: version 6 (flat), 7 and later (`winlog`).

`host` is the collector; `computer_name` is the host that logged the event. Modules and pipelines
move event data to ECS fields; `elastic/move.py` restores them. Documents that no module changed use
the fast path `decode_typed`.
"""

from typing import Any

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, field
from msgspec.json import Decoder

from vedette.ingest.adapters import adapters_of
from vedette.ingest.channels import canonical
from vedette.ingest.decode.elastic import move
from vedette.ingest.decode.elastic.member import member
from vedette.ingest.decode.eventlog import (
    flat_data,
    integer,
    keywords_text,
    lower_host,
    make_record,
    small_pid,
    small_record_id,
    text,
)
from vedette.ingest.host_clock import clock_of
from vedette.ingest.record import Record
from vedette.ingest.times import time_us

MARK = b'"winlog":'
PREFIX = b'{"@timestamp":'
"""First bytes of every Beats document."""


class _Process(Struct, gc=False):
    pid: int = 0


class _Winlog(Struct, gc=False):
    channel: str
    computer_name: str
    event_id: str | int
    event_data: dict[str, str]
    record_id: str | int = 0
    provider_name: str = ""
    process: _Process | None = None
    keywords: list[str] | None = None


class _Log(Struct, gc=False):
    level: str = ""


class _Host(Struct, gc=False):
    """The machine that runs Winlogbeat. `add_host_metadata` adds its addresses."""

    name: str = ""
    hostname: str = ""
    ip: list[str] | str = ""
    mac: list[str] | str = ""
    timezone: Any = ""


class _Event(Struct, gc=False):
    timezone: Any = ""


class _Document(Struct, gc=False):
    winlog: _Winlog
    timestamp: str = field(name="@timestamp")
    log: _Log | None = None
    host: _Host | str | None = None
    event: _Event | str | None = None
    # Members that modules write. If a module moved a mandatory member of a Security or PowerShell
    # event, the document has at least one of these.
    process: Raw | UnsetType = UNSET
    source: Raw | UnsetType = UNSET
    powershell: Raw | UnsetType = UNSET


_decoder = Decoder(_Document)


def decode_typed(raw: bytes) -> Record | None:
    """Returns the record of a document that no module changed; None for any other."""
    try:
        return _record(_decoder.decode(raw))
    except (DecodeError, ValueError):
        return None


def _record(document: _Document) -> Record | None:
    """Raises ValueError for malformed numbers."""
    log = document.winlog
    data = log.event_data
    event_id = int(log.event_id)
    channel = canonical(log.channel, log.provider_name)
    if (
        not data
        or document.process is not UNSET
        or document.source is not UNSET
        or document.powershell is not UNSET
        or move.is_moved(channel, data)
    ):
        return None
    envelope_us = time_us(document.timestamp)
    host = lower_host(log.computer_name)
    if not envelope_us or not host or not 0 <= event_id <= 0xFFFF:
        return None
    process, sender = log.process, document.host
    adapters, clock = "", 0
    if type(sender) is _Host:  # members that senders omit cost nothing
        names = (sender.name, sender.hostname)
        if sender.ip:
            adapters = adapters_of(host, names, sender.ip, sender.mac)
        zone = document.event.timezone if type(document.event) is _Event else ""
        if zone or sender.timezone:
            clock = clock_of(host, names, (zone, sender.timezone))
    return Record(
        "windows",
        host,
        envelope_us,
        channel,
        event_id,
        small_record_id(int(log.record_id)),
        log.provider_name,
        0 if process is None else small_pid(process.pid),
        data,
        0 if document.log is None else _LEVELS.get(document.log.level, 0),
        "" if log.keywords is None else keywords_text(log.keywords),
        adapters,
        clock,
    )


_LEVELS = {"critical": 1, "error": 2, "warning": 3, "information": 4, "verbose": 5}
"""Levels by Winlogbeat's words for them."""


def recognises(obj: dict[str, Any]) -> bool:
    return isinstance(obj.get("winlog"), dict) or ("log_name" in obj and "event_id" in obj)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Decodes documents of any version, with any types. Raises RecordError: no_host, no_time,
    bad_time."""
    log = obj.get("winlog")
    return [_newer(obj, log) if isinstance(log, dict) else _version_6(obj)]


def _version_6(obj: dict[str, Any]) -> Record:
    data = _named_data(obj)
    _add_message(data, obj, obj)
    return make_record(
        host=obj.get("computer_name"),
        times=(obj.get("@timestamp"),),
        channel=obj.get("log_name"),
        event_id=obj.get("event_id"),
        record_id=obj.get("record_number"),
        provider=obj.get("source_name"),
        pid=obj.get("process_id"),
        data=data,
        level=_level(obj.get("level")),
        keywords=obj.get("keywords"),
    )


def _newer(obj: dict[str, Any], log: dict[str, Any]) -> Record:
    process = log.get("process")
    event_id = log.get("event_id") or member(obj, ("event", "code"))
    channel = canonical(text(log.get("channel")), text(log.get("provider_name")))
    data = _named_data(log)
    move.restore(obj, channel, integer(event_id), data)
    _add_message(data, log, obj)
    record = make_record(
        host=log.get("computer_name"),
        times=(obj.get("@timestamp"), member(obj, ("event", "created"))),
        channel=channel,
        event_id=event_id,
        record_id=log.get("record_id"),
        provider=log.get("provider_name"),
        pid=process.get("pid") if isinstance(process, dict) else None,
        data=data,
        level=_level(member(obj, ("log", "level")) or log.get("level")),
        keywords=log.get("keywords"),
    )
    sender = obj.get("host")
    if isinstance(sender, dict):
        names = (sender.get("name"), sender.get("hostname"))
        record.adapters = adapters_of(record.host, names, sender.get("ip"), sender.get("mac"))
    return record


def _level(value: Any) -> int:
    return _LEVELS.get(text(value).lower(), 0)


def _named_data(log: dict[str, Any]) -> dict[str, Any]:
    named = move.unsplit(log.get("event_data"))
    data = flat_data(log.get("user_data")) | flat_data(named)
    data.pop("xml_name", None)
    return data


def _add_message(data: dict[str, Any], log: dict[str, Any], document: dict[str, Any]) -> None:
    """Adds the message of an event without data. Version 7 and later write it outside `winlog`."""
    message = log.get("message") or document.get("message")
    if not data and isinstance(message, str):
        data["Message"] = message
