"""Decoder of Auditbeat: the modules `auditd`, `system` and `file_integrity`.

A kernel audit event (`auditd.*`) becomes a record of the family auditd. Members that Auditbeat
moved to ECS fields get their audit names back. Filebeat has modules of the same names, whose
documents contain a log line and are decoded as such.
"""

from typing import Any

from vedette.ingest.decode import auditd, shipper
from vedette.ingest.decode.audit_tables import event_id_of
from vedette.ingest.decode.elastic import document
from vedette.ingest.decode.elastic.document import list_at, texts_at
from vedette.ingest.decode.elastic.endpoint import process_kind
from vedette.ingest.decode.elastic.member import member, value_at
from vedette.ingest.decode.endpoint import Kind, Part, make_record, record_id_of
from vedette.ingest.decode.eventlog import integer, text
from vedette.ingest.record import Record, RecordError
from vedette.ingest.times import any_time_us
from vedette.limits import ENDPOINT_ARGUMENTS_MAX

CHANNEL = "auditbeat"

_AUDIT_MODULES = frozenset({"auditd", "auditd_manager"})
_SYSTEM_SETS = frozenset({"process", "socket", "login", "user", "package", "host"})


def recognises(obj: dict[str, Any]) -> bool:
    event = obj.get("event")
    if not isinstance(event, dict):
        return False
    match event.get("module"):
        case "auditd" | "auditd_manager":
            audit = obj.get("auditd")
            return isinstance(audit, dict) and ("sequence" in audit or "data" in audit)
        case "system":
            return isinstance(name := event.get("dataset"), str) and name in _SYSTEM_SETS
        case "file_integrity":
            return True
    return False


def decode(obj: dict[str, Any]) -> list[Record]:
    """Raises RecordError: no_host, no_time, bad_time, bad_process."""
    if obj["event"]["module"] in _AUDIT_MODULES:
        return [_audit_event(obj)]
    kind, details = _kind(obj)
    holder = member(obj, ("process",))
    process = document.process_of(holder, member(obj, ("user",)))
    record = make_record(
        document.host_of(obj) or shipper.host_of(obj),
        member(obj, ("event", "start")) if kind == "connection" else member(obj, ("@timestamp",)),
        CHANNEL,
        document.system_of(obj),
        kind,
        process,
        parent=_parent(holder),
        record_id=record_id_of(member(obj, ("event", "id"))),
        **details,
    )
    return [document.add_host(record, obj)]


def _parent(holder: Any) -> Part:
    parent = document.process_of(member(holder, ("parent",)))
    pid = integer(value_at(holder, "ppid"))
    return parent or ({"pid": pid} if pid else {})


def _kind(obj: dict[str, Any]) -> tuple[Kind, Part]:
    actions, types = texts_at(obj, "event", "action"), texts_at(obj, "event", "type")
    match member(obj, ("event", "dataset")):
        case "process":
            return process_kind(actions, types), {}
        case "socket":
            made = document.connection_of(obj, outbound=document.is_outbound(obj))
            return ("connection", {"connection": made}) if made else ("", {})
        case "file":
            file = document.file_of(obj, actions)
            return ("file", {"file": file}) if file else ("", {})
    return "", {}


# --- the kernel's audit --------------------------------------------------------------------

_CALL_MEMBERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pid", ("process", "pid")),
    ("exe", ("process", "executable")),
    ("comm", ("process", "name")),
    ("uid", ("user", "id")),
    ("UID", ("user", "name")),
    ("auid", ("user", "audit", "id")),
    ("AUID", ("user", "audit", "name")),
    ("euid", ("user", "effective", "id")),
    ("EUID", ("user", "effective", "name")),
    ("gid", ("user", "group", "id")),
    ("GID", ("user", "group", "name")),
    ("ses", ("auditd", "session")),
)
_RESULTS = {"success": "yes", "fail": "no"}


def _audit_event(obj: dict[str, Any]) -> Record:
    """Raises RecordError: no_host, no_time, bad_time."""
    host = document.host_of(obj) or shipper.host_of(obj)
    if not host:
        raise RecordError("no_host", "the audit event has no host")
    written = obj.get("@timestamp")
    time_us = any_time_us(written)
    if not time_us:
        reason = "no_time" if written in (None, "") else "bad_time"
        raise RecordError(reason, "the audit event has no plausible time")
    audit = obj["auditd"]
    serial = integer(audit.get("sequence"))
    kind = text(audit.get("message_type")).upper()
    return Record(
        "auditd",
        host,
        time_us,
        "auditd",
        event_id_of(kind),
        auditd.record_id_of(time_us, serial) if serial else 0,
        data={"SERIAL": serial, **_audit_data(obj, kind or "UNKNOWN")},
    )


def _audit_data(obj: dict[str, Any], kind: str) -> dict[str, Any]:
    """Returns the event in laurel's shape."""
    data = member(obj, ("auditd", "data"))
    call: dict[str, Any] = (
        {name: value_at(data, name) for name in data} if isinstance(data, dict) else {}
    )
    for name, path in _CALL_MEMBERS:
        value = value_at(obj, *path)
        if value is not None:
            call[name] = value
    call["ppid"] = value_at(obj, "process", "parent", "pid") or value_at(obj, "process", "ppid")
    call["success"] = _RESULTS.get(text(member(obj, ("auditd", "result"))), "")
    call["key"] = " ".join(list_at(obj, "tags"))
    call = {name: value for name, value in call.items() if value not in (None, "")}
    if kind != "SYSCALL":
        return {kind: call}
    call["SYSCALL"] = call.get("syscall", "")
    found: dict[str, Any] = {"SYSCALL": call}
    arguments = list_at(obj, "process", "args")
    if arguments and call["SYSCALL"] in {"execve", "execveat"}:  # the kernel wrote EXECVE
        found["EXECVE"] = {"argc": len(arguments), "ARGV": arguments}
    directory = text(value_at(obj, "process", "working_directory"))
    if directory:
        found["CWD"] = {"cwd": directory}
    paths = _paths(obj)
    if paths:
        found["PATH"] = paths
    socket = member(obj, ("auditd", "data", "socket")) or member(obj, ("destination",))
    address = text(value_at(socket, "addr") or value_at(socket, "ip"))
    if address:
        family = "inet6" if ":" in address else "inet"
        port = value_at(socket, "port")
        found["SOCKADDR"] = [{"SADDR": {"saddr_fam": family, "addr": address, "port": port}}]
    return found


def _paths(obj: dict[str, Any]) -> list[dict[str, Any]]:
    written = member(obj, ("auditd", "paths"))
    return [
        {name: value_at(one, name) for name in ("item", "name", "nametype", "inode", "mode")}
        for one in (written[:ENDPOINT_ARGUMENTS_MAX] if isinstance(written, list) else [])
        if isinstance(one, dict)
    ]
