"""Decoder of Winlogbeat and Elastic Agent: version 6 (flat), 7 (moved to ECS), 8+ (`winlog`).

`host` is the collector; `computer_name` is the host that logged. The Sysmon and Security modules of
version 7 move event data to ECS fields, which are mapped back to the original names. Later versions
send `winlog.event_data` unchanged: the fast path `decode_typed`.
"""

from typing import Any

from msgspec import DecodeError, Struct, field
from msgspec.json import Decoder

from vedette.ingest.adapters import adapters_of
from vedette.ingest.channels import SECURITY, SYSMON, canonical
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
    """Of the machine that Winlogbeat runs on, with its addresses by `add_host_metadata`."""

    name: str = ""
    hostname: str = ""
    ip: list[str] | str = ""
    mac: list[str] | str = ""


class _Document(Struct, gc=False):
    winlog: _Winlog
    timestamp: str = field(name="@timestamp")
    log: _Log | None = None
    host: _Host | str | None = None


_decoder = Decoder(_Document)


def decode_typed(raw: bytes) -> Record | None:
    """Record of a version 8 document; None for any other."""
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
    if not data or _is_moved(channel, event_id, data):
        return None
    envelope_us = time_us(document.timestamp)
    host = lower_host(log.computer_name)
    if not envelope_us or not host or not 0 <= event_id <= 0xFFFF:
        return None
    process, sender = log.process, document.host
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
        ""
        if not isinstance(sender, _Host) or not sender.ip
        else adapters_of(host, (sender.name, sender.hostname), sender.ip, sender.mac),
    )


_LEVELS = {"critical": 1, "error": 2, "warning": 3, "information": 4, "verbose": 5}
"""Levels by the words that Winlogbeat has for them."""


def _is_moved(channel: str, event_id: int, data: dict[str, Any]) -> bool:
    """Whether version 7 moved a mandatory member of this event to ECS."""
    if channel == SYSMON:
        return "UtcTime" not in data
    return channel == SECURITY and event_id in {4688, 4689} and "ProcessId" not in data


def recognises(obj: dict[str, Any]) -> bool:
    return isinstance(obj.get("winlog"), dict) or ("log_name" in obj and "event_id" in obj)


def decode(obj: dict[str, Any]) -> list[Record]:
    """Any version, any types. Raises RecordError: no_host, no_time, bad_time."""
    log = obj.get("winlog")
    return [_newer(obj, log) if isinstance(log, dict) else _version_6(obj)]


def _version_6(obj: dict[str, Any]) -> Record:
    return make_record(
        host=obj.get("computer_name"),
        times=(obj.get("@timestamp"),),
        channel=obj.get("log_name"),
        event_id=obj.get("event_id"),
        record_id=obj.get("record_number"),
        provider=obj.get("source_name"),
        pid=obj.get("process_id"),
        data=_event_data(obj, obj),
        level=_level(obj.get("level")),
        keywords=obj.get("keywords"),
    )


def _newer(obj: dict[str, Any], log: dict[str, Any]) -> Record:
    process = log.get("process")
    event_id = log.get("event_id") or _member(obj, ("event", "code"))
    data = _event_data(log, obj)
    channel = canonical(text(log.get("channel")), text(log.get("provider_name")))
    if _is_moved(channel, integer(event_id), data):
        of_ecs = _sysmon_of_ecs if channel == SYSMON else _security_of_ecs
        data |= of_ecs(obj, integer(event_id), data)
    record = make_record(
        host=log.get("computer_name"),
        times=(obj.get("@timestamp"), _member(obj, ("event", "created"))),
        channel=channel,
        event_id=event_id,
        record_id=log.get("record_id"),
        provider=log.get("provider_name"),
        pid=process.get("pid") if isinstance(process, dict) else None,
        data=data,
        level=_level(_member(obj, ("log", "level")) or log.get("level")),
        keywords=log.get("keywords"),
    )
    sender = obj.get("host")
    if isinstance(sender, dict):
        names = (sender.get("name"), sender.get("hostname"))
        record.adapters = adapters_of(record.host, names, sender.get("ip"), sender.get("mac"))
    return record


def _level(value: Any) -> int:
    return _LEVELS.get(text(value).lower(), 0)


def _event_data(log: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Of a record that has none, its message, which version 7 and later have beside `winlog`."""
    data = flat_data(log.get("user_data")) | flat_data(log.get("event_data"))
    data.pop("xml_name", None)
    message = log.get("message") or document.get("message")
    if not data and isinstance(message, str):
        data["Message"] = message
    return data


# --- Winlogbeat 7: ECS back to the names of the event -----------------------------------

_ECS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("CommandLine", ("process", "command_line")),
    ("CurrentDirectory", ("process", "working_directory")),
    ("ParentProcessGuid", ("process", "parent", "entity_id")),
    ("ParentProcessId", ("process", "parent", "pid")),
    ("ParentImage", ("process", "parent", "executable")),
    ("ParentCommandLine", ("process", "parent", "command_line")),
    ("Signature", ("file", "code_signature", "subject_name")),
    ("SignatureStatus", ("file", "code_signature", "status")),
    ("Protocol", ("network", "transport")),
    ("SourceIp", ("source", "ip")),
    ("SourceHostname", ("source", "domain")),
    ("SourcePort", ("source", "port")),
    ("DestinationIp", ("destination", "ip")),
    ("DestinationHostname", ("destination", "domain")),
    ("DestinationPort", ("destination", "port")),
    ("QueryName", ("dns", "question", "name")),
    ("Archived", ("sysmon", "file", "archived")),
    ("IsExecutable", ("sysmon", "file", "is_executable")),
    ("TargetObject", ("registry", "path")),
)
"""Original names of event data and their ECS paths, the same for every Sysmon id."""

_SUBJECT = ("ProcessGuid", "ProcessId", "Image")
_ACTOR: dict[int, tuple[str, str, str]] = {
    8: ("SourceProcessGuid", "SourceProcessId", "SourceImage"),
    10: ("SourceProcessGUID", "SourceProcessId", "SourceImage"),
}
"""Original names of `process.entity_id`, `.pid` and `.executable`."""

_FILE_PATH: dict[int, str] = {6: "ImageLoaded", 7: "ImageLoaded", 9: "Device"}
"""Original name of `file.path` where it was not TargetFilename."""

_FILE_HASHES: dict[int, str] = {6: "Hashes", 7: "Hashes", 15: "Hash"}
"""Event ids whose hashes moved to `file.hash`, with the original name; others use `process.hash`
and Hashes."""

_PE = {
    "FileVersion": "file_version",
    "Description": "description",
    "Product": "product",
    "Company": "company",
    "OriginalFileName": "original_file_name",
}
"""Version fields by their members of `process.pe`, or `file.pe` where the event is of a file."""

_PIPES = (17, 18)
_INITIATED = {"egress": "true", "outbound": "true", "ingress": "false", "inbound": "false"}


def _sysmon_of_ecs(obj: dict[str, Any], event_id: int, data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"UtcTime": obj.get("@timestamp")}
    for name, path in _ECS:
        found[name] = _member(obj, path)
    for name, member in zip(
        _ACTOR.get(event_id, _SUBJECT), ("entity_id", "pid", "executable"), strict=True
    ):
        found[name] = _member(obj, ("process", member))
    found[_FILE_PATH.get(event_id, "TargetFilename")] = _member(obj, ("file", "path"))
    if event_id in _PIPES:
        found["PipeName"] = _member(obj, ("file", "name"))
    found["Initiated"] = _INITIATED.get(text(_member(obj, ("network", "direction"))))
    found["User"] = _user(obj)
    found["QueryResults"] = _query_results(obj)
    hashed = "file" if event_id in _FILE_HASHES else "process"
    found[_FILE_HASHES.get(event_id, "Hashes")] = _hashes(_member(obj, (hashed,)))
    for name, member in _PE.items():
        found[name] = _member(obj, (hashed, "pe", member))
    signed = _member(obj, ("file", "code_signature", "signed"))
    found["Signed"] = text(signed)
    return {name: value for name, value in found.items() if value and name not in data}


def _security_of_ecs(obj: dict[str, Any], event_id: int, data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    match event_id:
        case 4688:
            found["NewProcessId"] = _member(obj, ("process", "pid"))
            found["NewProcessName"] = _member(obj, ("process", "executable"))
            found["ProcessId"] = _member(obj, ("process", "parent", "pid"))
            found["ParentProcessName"] = _member(obj, ("process", "parent", "executable"))
            found["CommandLine"] = _member(obj, ("process", "command_line"))
        case 4689:
            found["ProcessId"] = _member(obj, ("process", "pid"))
            found["ProcessName"] = _member(obj, ("process", "executable"))
    return {name: value for name, value in found.items() if value and name not in data}


def _user(obj: dict[str, Any]) -> str:
    domain, name = _member(obj, ("user", "domain")), _member(obj, ("user", "name"))
    return f"{domain}\\{name}" if domain and name else ""


def _hashes(holder: Any) -> str:
    hashes = holder.get("hash") if isinstance(holder, dict) else None
    pairs = dict(hashes) if isinstance(hashes, dict) else {}
    pairs["imphash"] = _member(holder, ("pe", "imphash"))
    return ",".join(f"{name.upper()}={value}" for name, value in pairs.items() if value)


def _query_results(obj: dict[str, Any]) -> str:
    answers = _member(obj, ("dns", "answers"))
    if not isinstance(answers, list):
        return ""
    data = [text(answer.get("data")) for answer in answers if isinstance(answer, dict)]
    return "".join(f"{one};" for one in data if one)


def _member(obj: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj
