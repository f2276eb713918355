"""Decoder of Wazuh alerts (`alerts.json`, `archives.json`): Windows events, audit events, and file
integrity.

`data.win` is an event of the event log whose members start with a lower-case letter. `data.audit`
is a kernel audit event. `syscheck` is a change of a file, with the process that made it if Wazuh's
agent recorded it. Other alerts have no kind in the model.
"""

import re
from typing import Any

from vedette.ingest.decode import auditd
from vedette.ingest.decode.audit_calls import call_name
from vedette.ingest.decode.audit_tables import event_id_of
from vedette.ingest.decode.endpoint import Part, System, hashes_text, make_process, make_record
from vedette.ingest.decode.eventlog import (
    has_event_data,
    integer,
    lower_host,
    text,
)
from vedette.ingest.decode.eventlog import make_record as make_windows_record
from vedette.ingest.decode.shipper import member
from vedette.ingest.record import Record, RecordError, unknown_format
from vedette.ingest.times import any_time_us
from vedette.limits import AUDIT_LINE_CHARS_MAX, ENDPOINT_ARGUMENTS_MAX
from vedette.model.event import FileOperation, RegistryOperation

CHANNEL = "wazuh"

_LEVELS = {"critical": 1, "error": 2, "warning": 3, "information": 4, "verbose": 5}
_AUDITS = {"AUDIT_SUCCESS": "audit success", "AUDIT_FAILURE": "audit failure"}
_CHANGES: dict[str, int] = {
    "added": FileOperation.CREATED,
    "modified": FileOperation.FIRST_WRITE,
    "deleted": FileOperation.DELETED,
}
_VALUE_CHANGES: dict[str, int] = {
    "added": RegistryOperation.WRITTEN,
    "modified": RegistryOperation.WRITTEN,
    "deleted": RegistryOperation.DELETED_VALUE,
}
_KEY_CHANGES: dict[str, int] = {
    "added": RegistryOperation.CREATED_KEY,
    "deleted": RegistryOperation.DELETED_KEY,
}
_AUDIT_ID = re.compile(r"audit\((\d{1,12})\.(\d{3}):(\d{1,20})\)")


def recognises(obj: dict[str, Any]) -> bool:
    is_wazuh = isinstance(obj.get("agent"), dict) and isinstance(obj.get("manager"), dict)
    return is_wazuh and ("rule" in obj or "decoder" in obj)  # archives have no rule


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time, unknown_format (event data of an unknown
    shape)."""
    win, audit = member(obj, ("data", "win")), member(obj, ("data", "audit"))
    if isinstance(win, dict) and isinstance(win.get("system"), dict):
        return [_windows_event(obj, win)]
    if isinstance(audit, dict):
        return [_audit_event(obj, audit)]
    if isinstance(obj.get("syscheck"), dict):
        return [_change(obj, obj["syscheck"])]
    fields = {name: obj[name] for name in ("data", "rule", "location", "full_log") if name in obj}
    return [make_record(_host(obj), _time(obj), CHANNEL, "", "", {}, fields=fields)]


def _host(obj: dict[str, Any]) -> str:
    return lower_host(text(member(obj, ("agent", "name"))))


def _time(obj: dict[str, Any]) -> Any:
    return obj.get("timestamp") or obj.get("@timestamp")


# --- data.win ------------------------------------------------------------------------------


def _windows_event(obj: dict[str, Any], win: dict[str, Any]) -> Record:
    system = win["system"]
    written = text(system.get("severityValue"))
    record = make_windows_record(
        host=system.get("computer") or member(obj, ("agent", "name")),
        times=(system.get("systemTime"), obj.get("timestamp"), obj.get("@timestamp")),
        channel=system.get("channel"),
        event_id=system.get("eventID"),
        record_id=system.get("eventRecordID"),
        provider=system.get("providerName"),
        pid=system.get("processID"),
        data=_event_data(win),
        level=system.get("level") or _LEVELS.get(written.lower()),
        keywords=system.get("keywords") or _AUDITS.get(written, ""),
    )
    if not has_event_data(record):
        raise unknown_format(obj, "no event data in an alert of Wazuh with")
    return record


def _event_data(win: dict[str, Any]) -> dict[str, Any]:
    """Returns event data under their original names. Wazuh lowers the first letter of each name,
    and joins values without names in `data`."""
    found: dict[str, Any] = {}
    for name, value in win.items():
        if name == "system" or not isinstance(value, dict):
            continue
        _add_members(value, found)
    data = found.pop("Data", None)
    if data is not None:
        found["param1"] = data
    return _unescaped(found)


def _unescaped(data: dict[str, Any]) -> dict[str, Any]:
    """Returns data with single backslashes. Wazuh's manager doubles every backslash of an event.
    Data with an odd run of backslashes come from a sender that does not double them, and stay
    unchanged."""
    texts = [value for value in data.values() if isinstance(value, str) and "\\" in value]
    if not texts or any("\\" in value.replace("\\\\", "") for value in texts):
        return data
    return {
        name: value.replace("\\\\", "\\") if isinstance(value, str) else value
        for name, value in data.items()
    }


def _add_members(holder: dict[str, Any], found: dict[str, Any]) -> None:
    for name, value in holder.items():
        if isinstance(value, dict):  # the element of a user event
            for inner, item in value.items():
                found[inner[:1].upper() + inner[1:]] = text(item)
        elif isinstance(value, list):
            found[name[:1].upper() + name[1:]] = " ".join(map(text, value[:ENDPOINT_ARGUMENTS_MAX]))
        else:
            found[name[:1].upper() + name[1:]] = text(value)


# --- data.audit ----------------------------------------------------------------------------

_NAME_TYPES = {
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), "DELETE"),
    **dict.fromkeys(("creat", "mkdir", "mkdirat", "mknod", "mknodat"), "CREATE"),
}
_NO_CALL = frozenset({"execve", "file", "directory", "id", "type", "command", "cwd", "acct"})


def _audit_event(obj: dict[str, Any], audit: dict[str, Any]) -> Record:
    host = _host(obj)
    if not host:
        raise RecordError("no_host", "the alert does not name its agent")
    serial = integer(audit.get("id"))
    time_us = _audit_time_us(obj.get("full_log"), serial) or any_time_us(_time(obj))
    if not time_us:
        reason = "no_time" if _time(obj) in (None, "") else "bad_time"
        raise RecordError(reason, "the alert has no plausible time")
    kind = text(audit.get("type")).upper() or "SYSCALL"
    return Record(
        "auditd",
        host,
        time_us,
        "auditd",
        event_id_of(kind),
        auditd.record_id_of(time_us, serial) if serial else 0,
        data={"SERIAL": serial, **_audit_data(audit, kind)},
    )


def _audit_time_us(log: Any, serial: int) -> int:
    """Returns the time of the event from the alert's log, if that belongs to the same event; else
    0."""
    if not isinstance(log, str) or not auditd.begins_line(log[:AUDIT_LINE_CHARS_MAX]):
        return 0
    found = _AUDIT_ID.search(log, 0, 256)
    if found is None or int(found[3]) != serial:
        return 0
    return int(found[1]) * 1_000_000 + int(found[2]) * 1_000


def _audit_data(audit: dict[str, Any], kind: str) -> dict[str, Any]:
    """Returns the event in laurel's shape."""
    call = {
        name: text(value)
        for name, value in audit.items()
        if name not in _NO_CALL and not isinstance(value, dict | list)
    }
    if text(audit.get("command")):
        call["comm"] = text(audit["command"])
    if kind != "SYSCALL":
        acct = text(audit.get("acct"))
        return {kind: {**call, **({"acct": acct} if acct else {})}}
    data: dict[str, Any] = {"SYSCALL": call}
    execve = audit.get("execve")
    if isinstance(execve, dict):
        arguments = _arguments(execve)
        data["EXECVE"] = {"argc": len(arguments), "ARGV": arguments}
    directory = text(audit.get("cwd"))
    if directory:
        data["CWD"] = {"cwd": directory}
    paths = _paths(audit)
    if paths:
        data["PATH"] = paths
    return data


def _arguments(execve: dict[str, Any]) -> list[str]:
    """Returns `a0`, `a1` and so on, up to the first missing member."""
    found: list[str] = []
    while (value := execve.get(f"a{len(found)}")) is not None:
        if len(found) >= ENDPOINT_ARGUMENTS_MAX:
            break
        found.append(text(value))
    return found


def _paths(audit: dict[str, Any]) -> list[dict[str, str]]:
    """Returns the paths of an event. Wazuh drops the kernel's name types; they follow from the
    system call."""
    file, directory = audit.get("file"), audit.get("directory")
    name = call_name(text(audit.get("syscall")), text(audit.get("arch")))
    found: list[dict[str, str]] = []
    for holder, kind in ((directory, "PARENT"), (file, _NAME_TYPES.get(name, "NORMAL"))):
        name = text(member(holder, ("name",)))
        if name:
            found.append({"name": name, "nametype": kind})
    return found


# --- syscheck ------------------------------------------------------------------------------


def _change(obj: dict[str, Any], check: dict[str, Any]) -> Record:
    """Converts a change of a file or registry key. Without the process that made the change, the
    record contains the members as fields."""
    path, event = text(check.get("path")), text(check.get("event"))
    is_key = path[:5].upper() == "HKEY_"
    system: System = "windows" if is_key or path[1:3] in (":\\", ":/") else "linux"
    process = _writer(check)
    detail = _key_change(check, path, event) if is_key else _file_change(check, path, event)
    host, time = _host(obj), _time(obj)
    if not detail or "pid" not in process:
        return make_record(host, time, CHANNEL, system, "", process, fields={"syscheck": check})
    if is_key:
        return make_record(host, time, CHANNEL, system, "registry", process, registry=detail)
    return make_record(host, time, CHANNEL, system, "file", process, file=detail)


def _file_change(check: dict[str, Any], path: str, event: str) -> Part:
    operation = _CHANGES.get(event)
    if operation is None or not path:
        return {}
    hashes = {name: check.get(f"{name}_after") for name in ("md5", "sha1", "sha256")}
    return {"operation": int(operation), "path": path, "hashes": hashes_text(hashes)}


def _key_change(check: dict[str, Any], path: str, event: str) -> Part:
    name = text(check.get("value_name"))
    operation = (_VALUE_CHANGES if name else _KEY_CHANGES).get(event)
    if operation is None:
        return {}
    return {"operation": int(operation), "path": f"{path}\\{name}" if name else path}


def _writer(check: dict[str, Any]) -> Part:
    """Returns the process that made the change. Only the mode "whodata" records it."""
    audit = check.get("audit")
    process = member(audit, ("process",))
    user = member(audit, ("effective_user",)) or member(audit, ("user",))
    return make_process(
        member(process, ("id",)),
        member(process, ("name",)),
        user=text(member(user, ("name",))),
        uid=text(member(user, ("id",))),
        cwd=text(member(process, ("cwd",))),
    )
