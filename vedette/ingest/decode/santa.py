"""Decoder of Santa: log lines, alone or in a shipper's `message`, and its telemetry as JSON.

    [2023-05-01T10:00:00.123Z] I santad: action=EXEC|decision=ALLOW|...|pid=12|path=/bin/ls|args=ls

JSON events are converted to the flat fields of log lines. Neither contains the host name, only a
machine id, which is used if the shipper names no host.
"""

import base64
import binascii
import re
from typing import Any

from vedette.ingest.decode import shipper
from vedette.ingest.decode.eventlog import lower_host
from vedette.ingest.decode.shipper import member
from vedette.ingest.decode.syslog_header import header_end
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us, time_us

_MARK = "santad: action="
_LINE = re.compile(r"\[(\d{4}-\d\d-\d\dT[^\]]{1,32})\] \w santad: (?=action=)")
_FIELD = re.compile(r"(?:^|\|)([a-z_0-9]+)=([^|]*)")

_ACTIONS: dict[str, str] = {
    "execution": "EXEC",
    "fork": "FORK",
    "exit": "EXIT",
    "close": "WRITE",
    "rename": "RENAME",
    "unlink": "DELETE",
    "link": "LINK",
    "exchangedata": "EXCHANGE",
    "clone": "CLONE",
    "copyfile": "COPYFILE",
    "file_access": "FILE_ACCESS",
    "disk": "DISK",
    "bundle": "BUNDLE",
    "allowlist": "ALLOWLIST",
    "login_window_session": "LOGIN_WINDOW_SESSION",
    "screen_sharing": "SCREEN_SHARING",
    "open_ssh": "OPEN_SSH",
    "authentication": "AUTHENTICATION",
    "codesigning_invalidated": "CODESIGNING_INVALIDATED",
    "launch_item": "LAUNCH_ITEM",
    "xprotect": "XPROTECT",
    "tcc_modification": "TCC_MODIFICATION",
    "gatekeeper_override": "GATEKEEPER_OVERRIDE",
}
"""Maps the member of a JSON event to the action in the log."""


def recognises(obj: dict[str, Any]) -> bool:
    """Whether an object is an event of Santa's JSON telemetry."""
    return ("event_time" in obj or "eventTime" in obj) and _kind(obj) is not None


def recognises_text(obj: dict[str, Any]) -> bool:
    """Whether a shipper's record carries a log line of Santa."""
    return bool(shipper.text_of(obj, begins_line))


def decode_text(obj: dict[str, Any]) -> list[Record]:
    """Returns the records of the log lines in a shipper's record. Raises RecordError: no_host,
    no_time."""
    lines = shipper.text_of(obj, begins_line).split("\n")
    return [parse_line(line, shipper.host_of(obj)) for line in lines if begins_line(line)]


def decode(obj: dict[str, Any]) -> list[Record]:
    """Decodes an event of the JSON telemetry. Raises RecordError: no_host, no_time,
    unknown_format."""
    kind = _kind(obj)
    if kind is None:
        raise RecordError("unknown_format", "a Santa event without an action")
    fields = _fields(kind, _snake(obj[kind]))
    host = shipper.host_of(obj) or _machine(obj.get("machine_id") or obj.get("machineId"))
    return [_record(host, any_time_us(obj.get("event_time") or obj.get("eventTime")), fields)]


def begins_line(text: str) -> bool:
    """Whether a text starts with a log line of Santa, after an optional syslog header."""
    return _MARK in text and _head(text) is not None


def _head(text: str) -> re.Match[str] | None:
    return _LINE.match(text, 0 if text.startswith("[") else header_end(text))


def parse_line(text: str, host: str) -> Record:
    """Returns the record of a log line. Raises RecordError: no_host, no_time, unknown_format."""
    found = _head(text)
    if found is None:
        raise RecordError("unknown_format", "not a Santa log line")
    members = text[found.end() :].rstrip()
    fields = {name: _plain(value) for name, value in _FIELD.findall(members)}
    return _record(host or _machine(fields.get("machineid")), time_us(found[1]), fields)


def _record(host: str, moment_us: int, fields: dict[str, str]) -> Record:
    if not host:
        raise RecordError("no_host", "the event has no host")
    if not moment_us:
        raise RecordError("no_time", "the event has no time")
    return Record("santa", host, moment_us, "santa", data=dict(fields))


def _machine(value: Any) -> str:
    return lower_host(value) if isinstance(value, str) else ""


def _plain(value: str) -> str:
    """Undoes Santa's escapes of separators and line breaks."""
    value = value.replace("<pipe>", "|").replace("\\n", "\n").replace("\\r", "\r")
    return "" if value == "(null)" else value


def _kind(obj: dict[str, Any]) -> str | None:
    for name, value in obj.items():
        if isinstance(value, dict) and _snake_name(name) in _ACTIONS:
            return name
    return None


def _snake_name(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), name)


def _snake(value: Any) -> Any:
    """Converts the member names of a value to snake case."""
    if isinstance(value, dict):
        return {_snake_name(name): _snake(item) for name, item in value.items()}
    return [_snake(item) for item in value] if isinstance(value, list) else value


def _fields(kind: str, event: dict[str, Any]) -> dict[str, str]:
    """Returns the flat fields of a JSON event, named as in log lines."""
    action = _ACTIONS[_snake_name(kind)]
    subject = {"EXEC": "target", "FORK": "child"}.get(action, "instigator")
    process = event.get(subject) or {}
    found: dict[str, Any] = {
        "action": action,
        "pid": member(process, ("id", "pid")),
        "pidversion": member(process, ("id", "pidversion")),
        "ppid": process.get("original_parent_pid") or member(process, ("parent_id", "pid")),
        "ppidversion": member(process, ("parent_id", "pidversion")),
        "uid": member(process, ("real_user", "uid")),
        "user": member(process, ("real_user", "name")),
        "decision": _enum(event.get("decision"), "DECISION_"),
        "reason": _enum(event.get("reason"), "REASON_"),
        "cert_sha256": member(event, ("certificate_info", "hash", "hash")),
        "cert_cn": member(event, ("certificate_info", "common_name")),
        "exit": member(event, ("exited", "exit_status")) or member(event, ("signaled", "signal")),
        "newpath": _newpath(event),
    }
    image = process.get("executable") or {}
    if action == "EXEC":
        found["path"] = image.get("path")
        found["sha256"] = member(image, ("hash", "hash"))
        found["args"] = " ".join(map(_argument, event.get("args") or []))
        found["cwd"] = member(event, ("working_directory", "path"))
    else:
        found["processpath"] = image.get("path")
        target = event.get("target") or event.get("source") or event.get("file1")
        found["path"] = target if isinstance(target, str) else member(target, ("path",))
    return {name: str(value) for name, value in found.items() if value not in (None, "")}


def _enum(value: Any, prefix: str) -> Any:
    return value.removeprefix(prefix) if isinstance(value, str) else value


def _newpath(event: dict[str, Any]) -> Any:
    target = event.get("target")
    if "source" in event and isinstance(target, str):
        return target
    return member(event, ("file2", "path"))


def _argument(value: Any) -> str:
    """Returns an argument decoded from base64, the JSON encoding of bytes in protocol buffers."""
    if not isinstance(value, str):
        return ""
    try:
        return base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return value
