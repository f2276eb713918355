"""Normaliser of Santa: executions with SHA-256, forks, exits and file changes.

A denied execution is a `processblock` of the process that attempted it.
"""

from collections.abc import Callable

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.hashes import hashes_of
from vedette.ingest.normalise import macos
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import (
    NOT_STARTED,
    WRONG_TYPE,
    child,
    end_facts,
    executed,
    filemod,
    kept_or_not,
    mention,
    process_at,
    start_facts,
    with_metadata,
)
from vedette.ingest.normalise.values import number
from vedette.ingest.record import Record
from vedette.model.event import ChildKind, FileOperation, Outcome, Processblock

Data = dict[str, str]


def _pid(data: Data) -> tuple[int, int]:
    return number(data.get("pid")), number(data.get("pidversion"), 1 << 63)


def _parent(data: Data, ctx: HostContext, time_us: int) -> ProcessState | None:
    pid = number(data.get("ppid"))
    return macos.actor(ctx, pid, number(data.get("ppidversion"), 1 << 63), time_us) if pid else None


def learn(record: Record, ctx: HostContext) -> None:
    """Adds starts, ends, names and paths of processes to the host context."""
    try:
        _learn(record.data, ctx, record.time_us)
    except WRONG_TYPE:
        return


def _learn(data: Data, ctx: HostContext, time_us: int) -> None:
    pid, version = _pid(data)
    parent_pid = number(data.get("ppid"))
    if parent_pid:
        mention(ctx, parent_pid, time_us)
    match data.get("action"):
        case "EXEC" if data.get("decision") != "DENY":
            path, sha256 = data.get("path", ""), data.get("sha256", "")
            known = macos.learn_exec(
                ctx, pid, version, time_us, path, data.get("user", ""), parent_pid
            )
            image = ctx.learn_image(path, f"SHA256={sha256}", time_us)
            publisher = data.get("cert_cn", "")
            image.learn({"is_executable_image": "1"})
            image.learn({"digsig_publisher": publisher} if publisher else {})
            known.learn(sha256=image.hashes.sha256, md5=ctx.md5_of(image.hashes.sha256))
        case "FORK":
            parent = process_at(ctx, parent_pid, time_us)
            macos.learn_fork(ctx, pid, version, time_us, parent.path)
        case "EXIT":
            macos.learn_actor(ctx, pid, version, time_us, "")
            ctx.learn_end(pid, time_us)
        case _ if pid:
            macos.learn_actor(ctx, pid, version, time_us, data.get("processpath", ""))


def normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a record; [] if the record is not kept."""
    try:
        make = _MAKE.get(record.data.get("action", ""))
        if make is not None:
            made = make(record.data, ctx, record.time_us)
            if made:
                return made
    except WRONG_TYPE:
        pass
    return kept_or_not(record, record.data, keep)


def _exec(data: Data, ctx: HostContext, time_us: int) -> list[Outcome]:
    path, sha256 = data.get("path", ""), data.get("sha256", "")
    hashes = hashes_of(f"SHA256={sha256}")
    parent, parent_pid = _parent(data, ctx, time_us), number(data.get("ppid"))
    cmdline = data.get("args", "") or path
    if data.get("decision") == "DENY":
        if parent is None:
            return []
        block = Processblock(
            parent.id, time_us, 0, block_result=NOT_STARTED, path=path, command_line=cmdline
        )
        block.sha256, block.md5 = hashes.sha256, ctx.md5_of(hashes.sha256)
        block.uid, block.username = data.get("uid", ""), data.get("user", "")
        return with_metadata(block, of=(parent,))
    known = ctx.started(_pid(data)[0], time_us)
    extra = {
        "uid": data.get("uid", ""),
        "current_directory": data.get("cwd", ""),
        "process_md5": known.md5,
    }
    facts = start_facts(
        known,
        time_us,
        cmdline=cmdline,
        parent=parent,
        parent_pid=parent_pid,
        hashes=hashes,
        extra={name: value for name, value in extra.items() if value},
    )
    out = executed(ctx, known, facts, time_us, parent=parent, parent_pid=parent_pid, hashes=hashes)
    ctx.learn_image(path, f"SHA256={sha256}", time_us).report(out)
    return out


def _fork(data: Data, ctx: HostContext, time_us: int) -> list[Outcome]:
    parent = _parent(data, ctx, time_us)
    if parent is None:
        return []
    forked = ctx.started(_pid(data)[0], time_us)
    return with_metadata(child(parent, forked, time_us, ChildKind.FORK), of=(parent,))


def _exit(data: Data, ctx: HostContext, time_us: int) -> list[Outcome]:
    known = macos.actor(ctx, *_pid(data), time_us)
    out: list[Outcome] = [end_facts(known, time_us, data.get("exit", ""))]
    parent = _parent(data, ctx, time_us)
    if parent is not None:
        kind = ChildKind.OTHER_EXEC if known.created else ChildKind.FORK
        out.append(child(parent, known, time_us, kind, started=False))
        parent.report(out)
    return with_metadata(*out, of=(known,))


def _files(data: Data, ctx: HostContext, time_us: int) -> list[Outcome]:
    known = macos.actor(ctx, *_pid(data), time_us, data.get("processpath", ""))
    here, there = _FILE_OPERATIONS[data["action"]]
    out: list[Outcome] = []
    if here and data.get("path"):
        out.append(filemod(known, time_us, here, data["path"]))
    if there and data.get("newpath"):
        out.append(filemod(known, time_us, there, data["newpath"]))
    return with_metadata(*out, of=(known,)) if out else []


_FILE_OPERATIONS: dict[str, tuple[int, int]] = {
    # operation on `path`, operation on `newpath`
    "WRITE": (FileOperation.LAST_WRITE, 0),
    "DELETE": (FileOperation.DELETED, 0),
    "RENAME": (FileOperation.DELETED, FileOperation.CREATED),
    "LINK": (0, FileOperation.CREATED),
    "CLONE": (0, FileOperation.CREATED),
    "COPYFILE": (0, FileOperation.CREATED),
    "EXCHANGE": (FileOperation.LAST_WRITE, FileOperation.LAST_WRITE),
}

_MAKE: dict[str, Callable[[Data, HostContext, int], list[Outcome]]] = {
    "EXEC": _exec,
    "FORK": _fork,
    "EXIT": _exit,
    **dict.fromkeys(_FILE_OPERATIONS, _files),
}
"""Function that creates the outcomes of each action
(docs/telemetry-events.md)."""

NORMALISER = Normaliser(learn, normalise)
