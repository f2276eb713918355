"""Shared parts of the Linux and macOS normalisers: acting process, starts and ends.

Without a ProcessGuid a process is identified by pid and start time. An `exec` starts a new process
document at the time of the exec. A forked child that never executes another image starts at its
fork. An event belongs to the process with its pid that started last before it. All events of a pid
without a known start belong to one process per image path, whose id is derived from pid and path
(`Processes.mention`) and so does not depend on the order of records.
"""

from collections.abc import Mapping
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.file_types import file_type_of
from vedette.ingest.hashes import NO_HASHES, Hashes
from vedette.ingest.normalise.keep import kept
from vedette.ingest.normalise.normaliser import Keep
from vedette.ingest.normalise.values import free_text
from vedette.ingest.paths import file_name
from vedette.ingest.record import Record
from vedette.model.event import ChildKind, Childproc, Facts, Filemod, Outcome
from vedette.model.metadata_rank import Rank

Values = dict[str, str | int | bytes]
"""Metadata of a process, by column."""

WRONG_TYPE = (TypeError, AttributeError, ValueError, KeyError, IndexError)
"""Exceptions raised by values of wrong types. The record then yields no process events."""


def process_at(ctx: HostContext, pid: int, time_us: int, path: str = "") -> ProcessState:
    """Returns the process that had this pid at that time. All times come from the same clock, so a
    process that started later is a different one."""
    return ctx.alive(pid, time_us, path, tolerance_us=0)


def find_at(ctx: HostContext, pid: int, time_us: int) -> ProcessState | None:
    """Like `process_at`, but None if no start is known."""
    return ctx.find(pid, time_us, tolerance_us=0)


def mention(ctx: HostContext, pid: int, time_us: int, path: str = "", username: str = "") -> None:
    """Registers a pid from an event that it caused."""
    known = find_at(ctx, pid, time_us) or ctx.mention(pid, path)
    if not known.path:
        known.learn(path=path)
    known.learn(username=username)


def start_facts(
    known: ProcessState,
    time_us: int,
    *,
    start_us: int = 0,
    cmdline: str = "",
    parent: ProcessState | None = None,
    parent_pid: int = 0,
    hashes: Hashes = NO_HASHES,
    extra: Mapping[str, str] | None = None,
) -> Facts:
    """Returns metadata of a created process and its parent."""
    values: Values = {
        "creation_observed": 1,
        "start": start_us or known.start_us or time_us,
        "process_pid": known.pid,
        "path": known.path,
        "process_name": file_name(known.path),
        "cmdline": free_text(cmdline),
        "username": known.username,
        "process_guid": known.guid,
        "process_md5": hashes.md5,
        "process_sha256": hashes.sha256,
        "process_sha1": hashes.sha1,
        "parent_pid": parent_pid,
    }
    if parent is not None:
        values |= {
            "parent_id": parent.id,
            "parent_pid": parent.pid,
            "parent_path": parent.path,
            "parent_name": file_name(parent.path),
            "parent_md5": parent.md5,
            "parent_sha256": parent.sha256,
            "parent_username": parent.username,
        }
    for name, value in (extra or {}).items():
        values[name] = free_text(value)
    rank = Rank.OTHER_CREATION if known.keyed else Rank.CREATION
    return Facts(known.id, time_us, {name: value for name, value in values.items() if value}, rank)


def executed(
    ctx: HostContext,
    known: ProcessState,
    facts: Facts,
    time_us: int,
    *,
    parent: ProcessState | None,
    parent_pid: int,
    hashes: Hashes = NO_HASHES,
) -> list[Outcome]:
    """Returns the outcomes of an exec: the new process, and the start of a child.

    If the same pid already ran an executed image under the same parent, that process ends and the
    new process is its child (`exec`). Otherwise the new process is a child of the parent
    (`other_exec`).
    """
    known.is_reported = True  # reported by the facts
    cmdline = str(facts.values.get("cmdline", ""))
    out: list[Outcome] = [facts]
    before = find_at(ctx, known.pid, time_us - 1)
    if known.keyed and known.created:
        pass  # Sysmon reported the parent
    elif before is not None and before.created and before.parent_pid == parent_pid:
        out.append(child(before, known, time_us, ChildKind.EXEC, cmdline=cmdline, hashes=hashes))
        out.append(end_facts(before, time_us))
    elif parent is not None:
        kind = ChildKind.OTHER_EXEC
        out.append(child(parent, known, time_us, kind, cmdline=cmdline, hashes=hashes))
    if parent is not None:
        parent.report(out)
    return out


def learn_executed(
    ctx: HostContext, pid: int, time_us: int, path: str, username: str, parent_pid: int
) -> ProcessState:
    """Registers an exec. Returns the new process."""
    known = ctx.started(pid, time_us)
    known.created = known.created or not known.keyed
    rank = Rank.OTHER_CREATION if known.keyed else Rank.CREATION
    known.learn(path=path, username=username, rank=rank)
    known.learn_parent(parent_pid, "")
    return known


def child(
    parent: ProcessState,
    known: ProcessState,
    time_us: int,
    kind: ChildKind,
    *,
    started: bool = True,
    cmdline: str = "",
    hashes: Hashes = NO_HASHES,
) -> Childproc:
    """Returns the start or end of a child as an event of its parent."""
    return Childproc(
        parent.id,
        time_us,
        int(started),
        kind,
        known.id,
        known.path,
        known.pid,
        hashes.md5 or known.md5,
        hashes.sha256 or known.sha256,
        free_text(cmdline),
        known.username,
    )


NOT_STARTED = 0
"""`block_result` of a program that was prevented from starting: equivalent to terminated."""


def end_facts(known: ProcessState, time_us: int, exit_status: str = "") -> Facts:
    values: Values = {"terminated": 1, "end_time": time_us}
    if exit_status:
        values["exit_status"] = exit_status
    return Facts(known.id, time_us, values)


def filemod(
    known: ProcessState, time_us: int, operation: int, path: str, note: str = ""
) -> Filemod:
    name = free_text(path)
    return Filemod(known.id, time_us, operation, name, file_type=file_type_of(name), note=note)


def with_metadata(*events: Outcome, of: tuple[ProcessState, ...]) -> list[Outcome]:
    """Returns the events, and metadata of their processes that were not emitted before."""
    out = list(events)
    for known in of:
        known.report(out)
    return out


def kept_or_not(
    record: Record, fields: Mapping[str, Any], keep: Keep, *, default: bool = False
) -> list[Outcome]:
    """Returns the record itself if `keep` or `default` selects it; else []."""
    if not default and not keep.keeps(record.channel, record.event_id):
        return []
    outcome = kept(record, record.time_us)
    outcome.fields = flat(fields)
    return [outcome]


def flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Returns nested data flattened to text by dotted name, without empty values."""
    fields: dict[str, str] = {}
    for name, value in data.items():
        match value:
            case dict():
                fields |= flat(value, f"{prefix}{name}.")
            case list():
                if all(isinstance(item, str | int) for item in value):
                    fields[prefix + name] = free_text(" ".join(map(str, value)))
                else:
                    fields |= flat(
                        {str(at): item for at, item in enumerate(value)}, f"{prefix}{name}."
                    )
            case None | "":
                pass
            case bool():
                fields[prefix + name] = "true" if value else "false"
            case _:
                fields[prefix + name] = free_text(str(value))
    return fields


def joined(directory: str, path: str) -> str:
    """Returns a path resolved against a directory."""
    if not path or path.startswith("/") or not directory.startswith("/"):
        return path
    path = path.removeprefix("./")
    return f"{directory.rstrip('/')}/{path}"
