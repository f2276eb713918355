"""Normaliser of the Vedette sensor for Linux.

Every event contains pid and start time of its process, so no event depends on earlier ones. The
exception is `exec`, which keeps both. As with other sources, the new image is a new process
document that starts at the exec (`unix.py`), and later events belong to the image that ran at their
time.
"""

from collections.abc import Callable
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.file_types import file_type_of
from vedette.ingest.hashes import Hashes, hashes_of
from vedette.ingest.normalise.network import TCP
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import (
    NOT_STARTED,
    WRONG_TYPE,
    child,
    end_facts,
    find_at,
    start_facts,
    with_metadata,
)
from vedette.ingest.normalise.values import free_text, number
from vedette.ingest.record import Record, RecordError
from vedette.model.address import address_text, pack_address
from vedette.model.event import (
    BLOCK_RESULT_UNKNOWN,
    BinarySeen,
    ChildKind,
    CrossKind,
    Crossproc,
    Filemod,
    FileOperation,
    Modload,
    Netconn,
    Outcome,
    Processblock,
)
from vedette.model.fields import BLOCK_STATUSES
from vedette.model.metadata_rank import Rank

Event = dict[str, Any]

BLOCKED_BY_ISOLATION = 1
BLOCKED_BY_BAN = 2
"""Values of `block_type`. docs/api-objects.md#process-events defines the first."""

_BLOCK_RESULTS = {name.lower(): number for number, name in enumerate(BLOCK_STATUSES)}

_OPERATIONS = {
    "create": FileOperation.CREATED,
    "write": FileOperation.FIRST_WRITE,
    "last_write": FileOperation.LAST_WRITE,
    "delete": FileOperation.DELETED,
    "rename": FileOperation.DELETED,
}
_DIRECTIONS = {"in": 0, "out": 1}
_MEMORY_ACCESS = 0x38  # VM_OPERATION, VM_READ, VM_WRITE
_TERMINATE = 0x1


def learn(record: Record, ctx: HostContext) -> None:
    """Adds starts, ends, names and paths of processes, and the host's addresses, to the host
    context."""
    event, time_us = record.data, record.time_us
    try:
        match event["type"]:
            case "start" | "exec":
                _learn_image(event, ctx, time_us)
            case "end":
                ctx.learn_end(_pid(event["proc"]), time_us)
            case "net":
                ctx.learn_local(pack_address(str(event.get("local_ip") or "")))
        _base(event["proc"], ctx)
    except WRONG_TYPE:
        return


def normalise(record: Record, ctx: HostContext, _keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a record. Raises RecordError bad_event for wrong types."""
    event = record.data
    try:
        return _MAKE[event["type"]](event, ctx, record.time_us)
    except WRONG_TYPE as error:
        raise RecordError("bad_event", f"a field of {event['type']} has the wrong type") from error


# --- processes --------------------------------------------------------------------------


def _pid(holder: Event) -> int:
    return number(holder.get("pid"))


def _text(event: Event, name: str) -> str:
    value = event.get(name)
    return "" if value is None else free_text(value)


def _hashes(event: Event) -> Hashes:
    named = (f"{name}={_text(event, name)}" for name in ("md5", "sha256", "sha1"))
    return hashes_of(",".join(named))


def _base(holder: Event, ctx: HostContext) -> ProcessState:
    """Returns the process with this pid and start, for its first image."""
    return ctx.started(_pid(holder), number(holder.get("start_us"), 1 << 62))


def _at(holder: Event, ctx: HostContext, time_us: int) -> ProcessState:
    """Returns the process document of the image that ran at that time."""
    known = find_at(ctx, _pid(holder), time_us)
    if known is not None and known.start_us >= number(holder.get("start_us"), 1 << 62):
        return known
    return _base(holder, ctx)


def _parent(event: Event, ctx: HostContext, time_us: int) -> ProcessState | None:
    pid, start_us = number(event.get("ppid")), number(event.get("parent_start_us"), 1 << 62)
    if not pid:
        return None
    if start_us:
        return _at({"pid": pid, "start_us": start_us}, ctx, time_us)
    return find_at(ctx, pid, time_us) or ctx.mention(pid, _text(event, "parent_path"))


def _image(event: Event, ctx: HostContext, time_us: int) -> ProcessState:
    """Returns the process document that a start or exec begins."""
    holder = event["proc"]
    if event["type"] == "start":
        return _base(holder, ctx)
    return ctx.started(_pid(holder), time_us)


def _learn_image(event: Event, ctx: HostContext, time_us: int) -> None:
    parent = _parent(event, ctx, time_us)
    if parent is not None and not parent.path:
        parent.learn(path=_text(event, "parent_path"), rank=Rank.OTHERS)
    known, hashes = _image(event, ctx, time_us), _hashes(event)
    known.created = not event.get("implicit") or known.created
    known.learn(
        path=_text(event, "path"),
        username=_text(event, "user"),
        md5=hashes.md5,
        sha256=hashes.sha256,
        rank=Rank.CREATION,
    )
    known.learn_parent(number(event.get("ppid")), _text(event, "parent_path"))
    known.guid = known.guid or _key(event)
    ctx.learn_hashes(hashes.md5, hashes.sha256)


def _key(event: Event) -> str:
    process = event["proc"]
    return f"{_text(event, 'boot')}:{process['pid']}:{process['start_us']}"


def _started(event: Event, ctx: HostContext, time_us: int) -> list[Outcome]:
    known, parent = _image(event, ctx, time_us), _parent(event, ctx, time_us)
    hashes, cmdline = _hashes(event), _text(event, "cmdline")
    if event.get("suppressed") and parent is not None:
        return _suppressed(event, known, parent, time_us)
    is_exec, is_implicit = event["type"] == "exec", bool(event.get("implicit"))
    extra = {"uid": _text(event, "uid"), "current_directory": _text(event, "cwd")}
    facts = start_facts(
        known,
        time_us,
        start_us=known.start_us,
        cmdline=cmdline,
        parent=parent,
        parent_pid=number(event.get("ppid")),
        hashes=hashes,
        extra=extra,
    )
    known.is_reported = True  # reported by the facts
    out: list[Outcome] = [facts, *_seen(event, time_us, hashes)]
    if is_implicit:
        del facts.values["creation_observed"]
    elif is_exec:
        before = _at(event["proc"], ctx, time_us - 1)
        out.append(child(before, known, time_us, ChildKind.EXEC, cmdline=cmdline, hashes=hashes))
        out.append(end_facts(before, time_us))
        before.report(out)
    elif parent is not None:
        kind = ChildKind.OTHER_EXEC
        out.append(child(parent, known, time_us, kind, cmdline=cmdline, hashes=hashes))
    return with_metadata(*out, of=(parent,) if parent is not None else ())


def _suppressed(
    event: Event, known: ProcessState, parent: ProcessState, time_us: int
) -> list[Outcome]:
    """Returns the start of a child whose own events the sensor omits: an event of its parent."""
    cmdline, hashes = _text(event, "cmdline"), _hashes(event)
    started = child(parent, known, time_us, ChildKind.OTHER_EXEC, cmdline=cmdline, hashes=hashes)
    started.suppressed = 1
    return with_metadata(started, of=(parent,))


def _seen(event: Event, time_us: int, hashes: Hashes) -> list[Outcome]:
    """Returns the image file as a binary, if it was hashed. The host runs or loads it, or tried
    to."""
    if not hashes.any_known():
        return []
    size = number(event.get("size"), 1 << 62)
    values = {"is_executable_image": "1"} | ({"orig_mod_len": str(size)} if size else {})
    path = _text(event, "path")
    return [BinarySeen(time_us, hashes.md5, hashes.sha256, hashes.sha1, path, values)]


def _ended(event: Event, ctx: HostContext, time_us: int) -> list[Outcome]:
    known = _at(event["proc"], ctx, time_us)
    status = event.get("exit_code")
    parent = _parent(event, ctx, time_us)
    if parent is None and known.parent_pid:
        parent = find_at(ctx, known.parent_pid, time_us)
    if event.get("suppressed") and parent is not None:
        ended = child(parent, known, time_us, ChildKind.OTHER_EXEC, started=False)
        ended.suppressed = 1
        return with_metadata(ended, of=(parent,))
    out: list[Outcome] = [end_facts(known, time_us, "" if status is None else str(status))]
    if parent is not None:
        out.append(child(parent, known, time_us, ChildKind.OTHER_EXEC, started=False))
        parent.report(out)
    return with_metadata(*out, of=(known,))


# --- events of processes ----------------------------------------------------------------


def _file(event: Event, ctx: HostContext, time_us: int) -> list[Outcome]:
    known, hashes = _at(event["proc"], ctx, time_us), _hashes(event)
    operation = _OPERATIONS[event["action"]]
    path, kind = _text(event, "path"), number(event.get("file_type"), 256)
    if "file_type" not in event:
        kind = file_type_of(path)
    out: list[Outcome] = [
        Filemod(known.id, time_us, operation, path, hashes.md5, hashes.sha256, hashes.sha1, kind)
    ]
    if event["action"] == "rename":
        there = _text(event, "to")
        out.append(Filemod(known.id, time_us, FileOperation.CREATED, there, file_type=kind))
    return with_metadata(*_marked(event, out), of=(known,))


def _connection(event: Event, ctx: HostContext, time_us: int) -> list[Outcome]:
    known = _at(event["proc"], ctx, time_us)
    own = pack_address(_text(event, "local_ip")), number(event.get("local_port"), 1 << 16)
    peer = pack_address(_text(event, "remote_ip")), number(event.get("remote_port"), 1 << 16)
    outbound = _DIRECTIONS[event["direction"]]
    protocol = number(event.get("proto"), 256) or TCP
    name = ctx.name_of(peer[0], time_us)
    out: list[Outcome] = [Netconn(known.id, time_us, outbound, protocol, *own, *peer, name)]
    if event.get("blocked"):
        target = f"{address_text(peer[0])}:{peer[1]}"
        out.append(Processblock(known.id, time_us, BLOCKED_BY_ISOLATION, path=target))
    return with_metadata(*out, of=(known,))


def _crossed(event: Event, ctx: HostContext, time_us: int) -> list[Outcome]:
    """Converts a debugger attach or a terminating signal to events of both processes."""
    known, target = _at(event["proc"], ctx, time_us), _at(event["target"], ctx, time_us)
    if not target.path:
        target.learn(path=_text(event["target"], "path"), rank=Rank.OTHERS)
    default = _TERMINATE if event["action"] == "kill" else _MEMORY_ACCESS
    access = number(event.get("access")) or default
    out: list[Outcome] = [
        _opened(known, target, time_us, access, is_target=0),
        _opened(target, known, time_us, access, is_target=1),
    ]
    return with_metadata(*_marked(event, out), of=(known, target))


def _marked(event: Event, out: list[Outcome]) -> list[Outcome]:
    """Marks the outcomes of an event that the sensor reports as tampering."""
    if event.get("tamper") is True:
        for one in out:
            if isinstance(one, Filemod | Crossproc):
                one.tamper = 1
    return out


def _opened(
    known: ProcessState, other: ProcessState, time_us: int, access: int, is_target: int
) -> Crossproc:
    return Crossproc(
        known.id,
        time_us,
        CrossKind.PROCESS_OPEN,
        other.id,
        other.path,
        other.md5,
        other.sha256,
        subtype=1,
        access=access,
        is_target=is_target,
    )


def _blocked(event: Event, ctx: HostContext, time_us: int) -> list[Outcome]:
    """Converts the block of a banned program: an event of the process that attempted to run it, or
    of its parent if that process was forked only for it."""
    known, parent = _at(event["proc"], ctx, time_us), _parent(event, ctx, time_us)
    actor = known if known.path or parent is None else parent
    hashes = _hashes(event)
    block = Processblock(
        actor.id,
        time_us,
        BLOCKED_BY_BAN,
        block_result=_block_result(event.get("result")),
        block_error=number(event.get("error"), 1 << 31),
        path=_text(event, "path"),
        command_line=_text(event, "cmdline"),
        md5=hashes.md5,
        sha256=hashes.sha256,
        uid=_text(event, "uid"),
        username=_text(event, "user"),
    )
    return with_metadata(block, *_seen(event, time_us, hashes), of=(actor,))


def _block_result(reported: object) -> int:
    """Returns the result of a block, reported by name or number. Without a report, the program was
    prevented from starting."""
    if reported is None:
        return NOT_STARTED
    if isinstance(reported, str):
        return _BLOCK_RESULTS.get(reported.lower(), BLOCK_RESULT_UNKNOWN)
    is_known = type(reported) is int and 0 <= reported < len(BLOCK_STATUSES)
    return reported if is_known and isinstance(reported, int) else BLOCK_RESULT_UNKNOWN


def _module(event: Event, ctx: HostContext, time_us: int) -> list[Outcome]:
    known, hashes = _at(event["proc"], ctx, time_us), _hashes(event)
    module = Modload(
        known.id, time_us, _text(event, "path"), hashes.md5, hashes.sha256, hashes.sha1
    )
    return with_metadata(module, *_seen(event, time_us, hashes), of=(known,))


_Make = Callable[[Event, HostContext, int], list[Outcome]]

_MAKE: dict[str, _Make] = {
    "start": _started,
    "exec": _started,
    "end": _ended,
    "file": _file,
    "net": _connection,
    "proc": _crossed,
    "block": _blocked,
    "image": _module,
}
"""Function that creates the outcomes of each event type."""

NORMALISER = Normaliser(learn, normalise)
