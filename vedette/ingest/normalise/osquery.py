"""Normaliser of osquery event tables: processes, sockets, files, DNS answers.

A process is identified by pid and start time. Times are whole seconds on Linux, so two images that
a pid runs within a second are a single process.
"""

from collections.abc import Callable
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.hashes import Hashes, hashes_of
from vedette.ingest.normalise import macos
from vedette.ingest.normalise.macos_image import executed_row
from vedette.ingest.normalise.network import TCP
from vedette.ingest.normalise.normaliser import Keep, Normaliser
from vedette.ingest.normalise.unix import (
    WRONG_TYPE,
    child,
    end_facts,
    executed,
    filemod,
    kept_or_not,
    learn_executed,
    mention,
    process_at,
    start_facts,
    with_metadata,
)
from vedette.ingest.normalise.values import number
from vedette.ingest.record import Record
from vedette.model.address import pack_address
from vedette.model.event import (
    UNKNOWN_IP,
    BinarySeen,
    ChildKind,
    Dnsquery,
    Facts,
    FileOperation,
    Netconn,
    Outcome,
)
from vedette.model.metadata_rank import Rank

Row = dict[str, Any]

_FORKS = frozenset({"fork", "vfork", "clone", "clone3"})
_FAILED = frozenset({"failed", "fail", "0", "denied"})
_FAMILIES = frozenset({"", "2", "10", "30", "AF_INET", "AF_INET6", "inet", "inet6"})

_FILE_OPERATIONS: dict[str, tuple[int, int]] = {
    # operation on `path`, operation on `dest_path`
    "create": (FileOperation.CREATED, 0),
    "creat": (FileOperation.CREATED, 0),
    "mkdir": (FileOperation.CREATED, 0),
    "mkdirat": (FileOperation.CREATED, 0),
    "mknod": (FileOperation.CREATED, 0),
    "mknodat": (FileOperation.CREATED, 0),
    "write": (FileOperation.FIRST_WRITE, 0),
    "truncate": (FileOperation.FIRST_WRITE, 0),
    "ftruncate": (FileOperation.FIRST_WRITE, 0),
    "unlink": (FileOperation.DELETED, 0),
    "unlinkat": (FileOperation.DELETED, 0),
    "rmdir": (FileOperation.DELETED, 0),
    "rename": (FileOperation.DELETED, FileOperation.CREATED),
    "renameat": (FileOperation.DELETED, FileOperation.CREATED),
    "renameat2": (FileOperation.DELETED, FileOperation.CREATED),
    "link": (0, FileOperation.CREATED),
    "linkat": (0, FileOperation.CREATED),
    "symlink": (0, FileOperation.CREATED),
    "symlinkat": (0, FileOperation.CREATED),
}


def learn(record: Record, ctx: HostContext) -> None:
    """Adds starts, ends, names and paths of processes, and DNS answers, to the host context."""
    try:
        learn_row = _LEARN.get(record.channel)
        if learn_row is not None:
            learn_row(record.data, ctx, record.time_us)
    except WRONG_TYPE:
        return


def normalise(record: Record, ctx: HostContext, keep: Keep) -> list[Outcome]:
    """Returns events and metadata of a row; [] if the record is not kept."""
    try:
        make = _MAKE.get(record.channel)
        if make is not None:
            return make(record.data, ctx, record.time_us)
    except WRONG_TYPE:
        pass
    return kept_or_not(record, record.data, keep)


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value)


# --- process_events ---------------------------------------------------------------------


def _learn_process(row: Row, ctx: HostContext, time_us: int) -> None:
    pid, parent_pid = number(row.get("pid")), number(row.get("parent"))
    mention(ctx, parent_pid, time_us)
    known = learn_executed(
        ctx, pid, time_us, _text(row, "path"), _text(row, "username"), parent_pid
    )
    if _text(row, "syscall") in _FORKS:
        known.created = False


def _process(row: Row, ctx: HostContext, time_us: int) -> list[Outcome]:
    parent_pid = number(row.get("parent"))
    known = ctx.started(number(row.get("pid")), time_us)
    parent = process_at(ctx, parent_pid, time_us) if parent_pid else None
    if _text(row, "syscall") in _FORKS:
        if parent is None:
            return []
        return with_metadata(child(parent, known, time_us, ChildKind.FORK), of=(parent,))
    extra = {"uid": _text(row, "uid"), "current_directory": _text(row, "cwd").strip('"')}
    cmdline = _text(row, "cmdline")
    hashes = _hashes(row)
    facts = start_facts(
        known,
        time_us,
        cmdline=cmdline,
        parent=parent,
        parent_pid=parent_pid,
        hashes=hashes,
        extra=extra,
    )
    out = executed(ctx, known, facts, time_us, parent=parent, parent_pid=parent_pid, hashes=hashes)
    return [*out, *_seen(row, time_us, hashes, _image(row))]


def _hashes(row: Row) -> Hashes:
    """Returns the hashes of the program. Event tables have none, but a query may join the table
    `hash`."""
    return hashes_of(f"md5={_text(row, 'md5')},sha256={_text(row, 'sha256')}")


def _seen(row: Row, time_us: int, hashes: Hashes, image: dict[str, str]) -> list[Outcome]:
    if not hashes.any_known():
        return []
    path, values = _text(row, "path"), {"is_executable_image": "1", **image}
    return [BinarySeen(time_us, hashes.md5, hashes.sha256, hashes.sha1, path, values)]


_AUTHENTICODE: dict[str, str] = {
    "trusted": "Signed",
    "missing": "Unsigned",
    "invalid": "Bad Signature",
    "untrusted": "Untrusted Root",
    "distrusted": "Explicit Distrust",
}
"""Signature result by `result` of the table `authenticode`. "valid" says nothing about the chain,
so it is not included."""

_IMAGE_COLUMNS: dict[str, str] = {
    "subject_name": "digsig_publisher",  # authenticode
    "issuer_name": "digsig_issuer",
    "original_program_name": "digsig_prog_name",
    "authority": "digsig_publisher",  # signature, of macOS
    "file_version": "file_version",  # file
    "product_version": "product_version",
    "original_filename": "original_filename",
}


def _image(row: Row) -> dict[str, str]:
    """Returns signature and version if a query joins the tables `authenticode`, `signature`,
    `file`."""
    found = {column: text for name, column in _IMAGE_COLUMNS.items() if (text := _text(row, name))}
    result = _AUTHENTICODE.get(_text(row, "result"), "") if "subject_name" in row else ""
    if "signed" in row and "authority" in row:
        # An ad-hoc signature has no authority and counts as unsigned.
        result = "Signed" if _text(row, "signed") == "1" and _text(row, "authority") else "Unsigned"
    return found | ({"digsig_result": result} if result else {})


# --- socket_events, process_file_events -------------------------------------------------


def _learn_actor(row: Row, ctx: HostContext, time_us: int) -> None:
    path = _text(row, "executable") or _text(row, "path")
    mention(ctx, number(row.get("pid")), time_us, path)


def _socket(row: Row, ctx: HostContext, time_us: int) -> list[Outcome]:
    status = _text(row, "status") or _text(row, "success")
    if status.lower() in _FAILED or _text(row, "family") not in _FAMILIES:
        return []
    own = pack_address(_text(row, "local_address")), number(row.get("local_port"), 1 << 16)
    peer = pack_address(_text(row, "remote_address")), number(row.get("remote_port"), 1 << 16)
    if own[0] == UNKNOWN_IP and peer[0] == UNKNOWN_IP:
        return []
    known = process_at(ctx, number(row.get("pid")), time_us, _text(row, "path"))
    outbound = int(_text(row, "action") == "connect")
    protocol = number(row.get("protocol"), 256) or TCP
    name = ctx.name_of(peer[0], time_us)
    return with_metadata(
        Netconn(known.id, time_us, outbound, protocol, *own, *peer, name), of=(known,)
    )


def _file(row: Row, ctx: HostContext, time_us: int) -> list[Outcome]:
    here, there = _FILE_OPERATIONS.get(_text(row, "operation").lower(), (0, 0))
    known = process_at(ctx, number(row.get("pid")), time_us, _text(row, "executable"))
    out: list[Outcome] = []
    if here:
        out.append(filemod(known, time_us, here, _text(row, "path")))
    if there:
        out.append(filemod(known, time_us, there, _text(row, "dest_path") or _text(row, "path")))
    return with_metadata(*out, of=(known,)) if out else []


# --- es_process_events, es_process_file_events ------------------------------------------


def _learn_es(row: Row, ctx: HostContext, time_us: int) -> None:
    kind = _text(row, "event_type").lower()
    pid, version = number(row.get("pid")), number(row.get("pidversion"), 1 << 63)
    if kind == "exec":
        parent_pid = number(row.get("parent"))
        mention(ctx, parent_pid, time_us)
        macos.learn_exec(
            ctx, pid, version, time_us, _text(row, "path"), _text(row, "username"), parent_pid
        )
        return
    macos.learn_actor(ctx, pid, version, time_us, _text(row, "path"))
    if kind == "fork":
        macos.learn_fork(ctx, number(row.get("child_pid")), 0, time_us, _text(row, "path"))
    elif kind == "exit":
        ctx.learn_end(pid, time_us)


def _es(row: Row, ctx: HostContext, time_us: int) -> list[Outcome]:
    pid, version = number(row.get("pid")), number(row.get("pidversion"), 1 << 63)
    parent_pid = number(row.get("parent"))
    known = macos.actor(ctx, pid, version, time_us, _text(row, "path"))
    match _text(row, "event_type").lower():
        case "exec":
            known = ctx.started(pid, time_us)
            parent = process_at(ctx, parent_pid, time_us) if parent_pid else None
            return _es_exec(row, ctx, time_us, known, parent)
        case "fork":
            forked = ctx.started(number(row.get("child_pid")), time_us)
            return with_metadata(child(known, forked, time_us, ChildKind.FORK), of=(known,))
        case "exit":
            return _ended(known, ctx, time_us, _text(row, "exit_code"), parent_pid)
        case _:
            return []


def _es_exec(
    row: Row, ctx: HostContext, time_us: int, known: ProcessState, parent: ProcessState | None
) -> list[Outcome]:
    parent_pid, hashes = number(row.get("parent")), _hashes(row)
    extra = {"uid": _text(row, "uid"), "current_directory": _text(row, "cwd")}
    facts = start_facts(
        known,
        time_us,
        cmdline=_text(row, "cmdline"),
        parent=parent,
        parent_pid=parent_pid,
        hashes=hashes,
        extra=extra,
    )
    out = executed(ctx, known, facts, time_us, parent=parent, parent_pid=parent_pid, hashes=hashes)
    return [*out, *_seen(row, time_us, hashes, {**executed_row(row), **_image(row)})]


def _ended(
    known: ProcessState, ctx: HostContext, time_us: int, status: str, parent_pid: int
) -> list[Outcome]:
    out: list[Outcome] = [end_facts(known, time_us, status)]
    if parent_pid:
        parent = process_at(ctx, parent_pid, time_us)
        out.append(child(parent, known, time_us, ChildKind.OTHER_EXEC, started=False))
        parent.report(out)
    return with_metadata(*out, of=(known,))


def _es_file(row: Row, ctx: HostContext, time_us: int) -> list[Outcome]:
    here, there = _FILE_OPERATIONS.get(_text(row, "event_type").lower(), (0, 0))
    known = process_at(ctx, number(row.get("pid")), time_us, _text(row, "path"))
    out: list[Outcome] = []
    if here:
        out.append(filemod(known, time_us, here, _text(row, "filename")))
    if there:
        out.append(filemod(known, time_us, there, _text(row, "dest_filename")))
    return with_metadata(*out, of=(known,)) if out else []


# --- Windows: process_etw_events, dns_lookup_events -------------------------------------


def _learn_etw(row: Row, ctx: HostContext, time_us: int) -> None:
    pid, parent_pid = number(row.get("pid")), number(row.get("ppid"))
    if _text(row, "type") == "ProcessStart":
        mention(ctx, parent_pid, time_us)
        known = ctx.started(pid, time_us)
        path, username = _text(row, "path"), _text(row, "username")
        known.learn(path=path, username=username, rank=Rank.CREATION)
        known.learn_parent(parent_pid, "")
    else:
        mention(ctx, pid, time_us, _text(row, "path"))
        ctx.learn_end(pid, time_us)


def _etw(row: Row, ctx: HostContext, time_us: int) -> list[Outcome]:
    pid, parent_pid = number(row.get("pid")), number(row.get("ppid"))
    if _text(row, "type") != "ProcessStart":
        known = process_at(ctx, pid, time_us, _text(row, "path"))
        return _ended(known, ctx, time_us, _text(row, "exit_code"), parent_pid)
    known = ctx.started(pid, time_us)
    parent = process_at(ctx, parent_pid, time_us) if parent_pid else None
    cmdline = _text(row, "cmdline")
    extra = {"terminal_session_id": _text(row, "session_id")}
    facts: Facts = start_facts(
        known, time_us, cmdline=cmdline, parent=parent, parent_pid=parent_pid, extra=extra
    )
    out: list[Outcome] = [facts]
    if parent is not None and not (known.keyed and known.created):
        out.append(child(parent, known, time_us, ChildKind.OTHER, cmdline=cmdline))
        parent.report(out)
    return with_metadata(*out, of=(known,))


def _learn_dns(row: Row, ctx: HostContext, time_us: int) -> None:
    mention(ctx, number(row.get("pid")), time_us, _text(row, "path"), _text(row, "username"))
    for part in _text(row, "response").replace("::ffff:", "").split(";"):
        address = pack_address(part.strip())
        if address != UNKNOWN_IP:
            ctx.learn_answer(address, _text(row, "name"), time_us)


def _dns(row: Row, ctx: HostContext, time_us: int) -> list[Outcome]:
    known = process_at(ctx, number(row.get("pid")), time_us, _text(row, "path"))
    name, answers = _text(row, "name"), _text(row, "response")
    if not name:
        return []
    event = Dnsquery(known.id, time_us, name, number(row.get("status")), answers)
    return with_metadata(event, of=(known,))


_Learn = Callable[[Row, HostContext, int], None]
_Make = Callable[[Row, HostContext, int], list[Outcome]]

_LEARN: dict[str, _Learn] = {
    "process_events": _learn_process,
    "socket_events": _learn_actor,
    "process_file_events": _learn_actor,
    "es_process_events": _learn_es,
    "es_process_file_events": _learn_actor,
    "process_etw_events": _learn_etw,
    "dns_lookup_events": _learn_dns,
}
_MAKE: dict[str, _Make] = {
    "process_events": _process,
    "socket_events": _socket,
    "process_file_events": _file,
    "es_process_events": _es,
    "es_process_file_events": _es_file,
    "process_etw_events": _etw,
    "dns_lookup_events": _dns,
}
"""Function that creates the outcomes of each table
(docs/telemetry-events.md)."""

NORMALISER = Normaliser(learn, normalise)
