"""Normaliser of macOS Endpoint Security events (eslogger, Jamf Protect).

Only Jamf Protect adds hashes of files (`macos_image.py`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.decode.shipper import member
from vedette.ingest.normalise import macos
from vedette.ingest.normalise.macos_image import executed_image, hashes_of_file
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import (
    WRONG_TYPE,
    child,
    end_facts,
    executed,
    filemod,
    kept_or_not,
    mention,
    start_facts,
    with_metadata,
)
from vedette.ingest.normalise.values import number
from vedette.ingest.record import Record
from vedette.ingest.times import any_time_us
from vedette.model.event import (
    BinarySeen,
    ChildKind,
    CrossKind,
    Crossproc,
    FileOperation,
    Modload,
    Outcome,
)

_PID, _VERSION, _EUID = 5, 7, 1
"""Indexes into an audit token written as eight numbers."""

_EXECUTABLE_MAPPING = 4
_TASK_ACCESS = {"get_task": 0x1FFFFF, "get_task_read": 0x0410, "trace": 0x38}
"""Access rights of a task port or an attach, as Windows access bits."""


class _Process(NamedTuple):
    """A process object of an event."""

    pid: int
    version: int
    path: str
    uid: str
    start_us: int
    parent_pid: int
    parent_version: int


def _process(holder: Any) -> _Process:
    pid, version, uid = _token(holder.get("audit_token"))
    parent_pid, parent_version, _ = _token(holder.get("parent_audit_token"))
    return _Process(
        pid,
        version,
        str(member(holder, ("executable", "path")) or ""),
        uid,
        any_time_us(holder.get("start_time")),
        parent_pid or number(holder.get("original_ppid")) or number(holder.get("ppid")),
        parent_version,
    )


def _token(token: Any) -> tuple[int, int, str]:
    """Returns pid, pidversion and effective user id of an audit token."""
    if isinstance(token, dict):
        uid = token.get("euid")
        version = number(token.get("pidversion"), 1 << 63)
        return number(token.get("pid")), version, "" if uid is None else str(uid)
    if isinstance(token, list) and len(token) == 8:
        return number(token[_PID]), number(token[_VERSION], 1 << 63), str(token[_EUID])
    return 0, 0, ""


def learn(record: Record, ctx: HostContext) -> None:
    """Adds starts, ends, names and paths of processes to the host context."""
    try:
        _learn(record, ctx)
    except WRONG_TYPE:
        return


def _learn(record: Record, ctx: HostContext) -> None:
    time_us, event = record.time_us, record.data["event"]
    by = _process(record.data["process"])
    macos.learn_actor(ctx, by.pid, by.version, time_us, by.path, by.start_us)
    match record.data["name"]:
        case "exec":
            target = _process(event["target"])
            if target.parent_pid:
                mention(ctx, target.parent_pid, time_us)
            known = macos.learn_exec(
                ctx, target.pid, target.version, time_us, target.path, "", target.parent_pid
            )
            hashes = hashes_of_file(event["target"].get("executable"))
            ctx.learn_hashes(hashes.md5, hashes.sha256)
            known.learn(sha256=hashes.sha256, md5=hashes.md5)
        case "fork":
            forked = _process(event["child"])
            macos.learn_fork(ctx, forked.pid, forked.version, time_us, forked.path or by.path)
        case "exit":
            ctx.learn_end(by.pid, time_us)


def normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a record; [] if the record is not kept."""
    try:
        make = _MAKE.get(record.data["name"])
        if make is not None:
            by = _process(record.data["process"])
            return make(record, by, record.data["event"], ctx)
    except WRONG_TYPE:
        pass
    return kept_or_not(record, record.data, keep)


def _actor(by: _Process, ctx: HostContext, time_us: int) -> ProcessState:
    return macos.actor(ctx, by.pid, by.version, time_us, by.path)


def _exec(record: Record, _by: _Process, event: Any, ctx: HostContext) -> list[Outcome]:
    time_us = record.time_us
    target = _process(event["target"])
    known = ctx.started(target.pid, time_us)
    parent = None
    if target.parent_pid:
        parent = macos.actor(ctx, target.parent_pid, target.parent_version, time_us)
    arguments = event.get("args") or []
    extra = {"uid": target.uid, "current_directory": str(member(event, ("cwd", "path")) or "")}
    hashes = hashes_of_file(event["target"].get("executable"))
    if md5 := hashes.md5 or ctx.md5_of(hashes.sha256):
        extra["process_md5"] = md5
    facts = start_facts(
        known,
        time_us,
        cmdline=" ".join(str(argument) for argument in arguments),
        parent=parent,
        parent_pid=target.parent_pid,
        hashes=hashes,
        extra=extra,
    )
    out = executed(
        ctx, known, facts, time_us, parent=parent, parent_pid=target.parent_pid, hashes=hashes
    )
    if hashes.any_known():
        known_as = (hashes.md5, hashes.sha256, hashes.sha1, target.path)
        out.append(BinarySeen(time_us, *known_as, executed_image(event)))
    return out


def _fork(record: Record, by: _Process, event: Any, ctx: HostContext) -> list[Outcome]:
    known = _actor(by, ctx, record.time_us)
    forked = ctx.started(_process(event["child"]).pid, record.time_us)
    return with_metadata(child(known, forked, record.time_us, ChildKind.FORK), of=(known,))


def _exit(record: Record, by: _Process, event: Any, ctx: HostContext) -> list[Outcome]:
    time_us = record.time_us
    known = _actor(by, ctx, time_us)
    status = event.get("stat")
    out: list[Outcome] = [end_facts(known, time_us, "" if status is None else str(status))]
    if by.parent_pid:
        parent = macos.actor(ctx, by.parent_pid, by.parent_version, time_us)
        kind = ChildKind.OTHER_EXEC if known.created else ChildKind.FORK
        out.append(child(parent, known, time_us, kind, started=False))
        parent.report(out)
    return with_metadata(*out, of=(known,))


def _files(record: Record, by: _Process, event: Any, ctx: HostContext) -> list[Outcome]:
    known = _actor(by, ctx, record.time_us)
    out: list[Outcome] = [
        filemod(known, record.time_us, operation, path)
        for operation, path in _changes(record.data["name"], event)
        if path
    ]
    return with_metadata(*out, of=(known,)) if out else []


def _changes(name: str, event: Any) -> list[tuple[int, str]]:
    """Returns pairs of operation and path of a file event."""
    match name:
        case "create":
            return [(FileOperation.CREATED, _destination(event))]
        case "rename":
            return [
                (FileOperation.DELETED, _path(event, "source")),
                (FileOperation.CREATED, _destination(event)),
            ]
        case "unlink":
            return [(FileOperation.DELETED, _path(event, "target"))]
        case "write" | "truncate":
            return [(FileOperation.FIRST_WRITE, _path(event, "target"))]
        case "close":
            written = event.get("modified") is True
            return [(FileOperation.LAST_WRITE, _path(event, "target"))] if written else []
        case _:
            name = event.get("target_filename") or event.get("target_name") or ""
            return [(FileOperation.CREATED, f"{_path(event, 'target_dir').rstrip('/')}/{name}")]


def _path(event: Any, name: str) -> str:
    return str(member(event, (name, "path")) or "")


def _destination(event: Any) -> str:
    """Returns the path of a created file: an existing file, or a new name within a directory."""
    destination = event.get("destination") or {}
    existing = member(destination, ("existing_file", "path"))
    if existing:
        return str(existing)
    new = destination.get("new_path") or destination
    directory = member(new, ("dir", "path"))
    return f"{str(directory).rstrip('/')}/{new.get('filename')}" if directory else ""


def _other(record: Record, by: _Process, event: Any, ctx: HostContext) -> list[Outcome]:
    """Converts the access of a process to another process."""
    time_us, name = record.time_us, record.data["name"]
    known = _actor(by, ctx, time_us)
    reached = _process(event["target"])
    target = macos.actor(ctx, reached.pid, reached.version, time_us, reached.path)
    thread = name == "remote_thread_create"
    kind = CrossKind.REMOTE_THREAD if thread else CrossKind.PROCESS_OPEN
    subtype, access = (0, 0) if thread else (1, _TASK_ACCESS[name])
    return with_metadata(
        Crossproc(known.id, time_us, kind, target.id, target.path, subtype=subtype, access=access),
        Crossproc(
            target.id,
            time_us,
            kind,
            known.id,
            known.path,
            subtype=subtype,
            access=access,
            is_target=1,
        ),
        of=(known, target),
    )


def _mapped(record: Record, by: _Process, event: Any, ctx: HostContext) -> list[Outcome]:
    """Converts the mapping of an executable library, or the load of a kernel extension."""
    path = str(member(event, ("source", "path")) or event.get("identifier") or "")
    if record.data["name"] == "mmap" and not number(event.get("protection")) & _EXECUTABLE_MAPPING:
        return []
    if not path:
        return []
    known, hashes = _actor(by, ctx, record.time_us), hashes_of_file(event.get("source"))
    loaded = Modload(known.id, record.time_us, path, hashes.md5, hashes.sha256, hashes.sha1)
    return with_metadata(loaded, of=(known,))


_Make = Callable[[Record, _Process, Any, HostContext], list[Outcome]]

_MAKE: dict[str, _Make] = {
    "exec": _exec,
    "fork": _fork,
    "exit": _exit,
    **dict.fromkeys(
        ("create", "rename", "unlink", "write", "truncate", "close", "link", "clone"), _files
    ),
    **dict.fromkeys(("get_task", "get_task_read", "trace", "remote_thread_create"), _other),
    "mmap": _mapped,
    "kextload": _mapped,
}
"""Function that creates the outcomes of each kind of event
(docs/telemetry-events.md)."""

NORMALISER = Normaliser(learn, normalise)
