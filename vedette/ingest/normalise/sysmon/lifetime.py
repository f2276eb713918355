"""Starts and ends of processes (Sysmon 1, 5), and tampering (25)."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.hashes import hashes_of
from vedette.ingest.normalise.sysmon.subject import (
    Data,
    find_process,
    report_image,
    subject_of,
    with_new_facts,
)
from vedette.ingest.normalise.values import known_text, number
from vedette.ingest.paths import file_name
from vedette.model.event import ChildKind, Childproc, Facts, Outcome
from vedette.model.ids import unknown_parent_id
from vedette.model.metadata_rank import Rank

_START_COLUMNS = (
    ("cmdline", "CommandLine"),
    ("username", "User"),
    ("original_filename", "OriginalFileName"),
    ("integrity_level", "IntegrityLevel"),
    ("current_directory", "CurrentDirectory"),
    ("terminal_session_id", "TerminalSessionId"),
    ("parent_cmdline", "ParentCommandLine"),
)


def start(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    get = data.get
    parent = find_process(
        ctx, get("ParentProcessGuid"), get("ParentProcessId"), get("ParentImage"), time_us
    )
    path, hashes = known_text(get("Image")), get("Hashes") or ""
    pid = number(get("ProcessId")) or known.pid
    found = hashes_of(hashes)
    md5 = found.md5 or ctx.md5_of(found.sha256)
    values: dict[str, str | int | bytes] = {
        "start": time_us,
        "path": path,
        "process_name": file_name(path),
        "process_pid": pid,
        "process_md5": md5,
        "process_sha256": found.sha256,
        "process_sha1": found.sha1,
        "creation_observed": 1,
        "process_guid": known.guid,
        "logon_id": known_text(get("LogonId")).lower(),
        "logon_type": known.logon_type,
    }
    for column, name in _START_COLUMNS:
        values[column] = known_text(get(name))
    values |= parent_columns(parent, ctx, data)
    out: list[Outcome] = [
        Facts(known.id, time_us, {k: v for k, v in values.items() if v}, Rank.CREATION)
    ]
    if parent is not None:
        out.append(
            Childproc(
                parent.id,
                time_us,
                1,
                ChildKind.EXEC if path.startswith("/") else ChildKind.OTHER,
                known.id,
                path,
                pid,
                md5,
                found.sha256,
                known_text(get("CommandLine")),
                known_text(get("User")),
            )
        )
        parent.report(out)
    known.report(out)
    report_image(data, ctx, path, time_us, out)
    return out


def parent_columns(
    parent: ProcessState | None, ctx: HostContext, data: Data
) -> dict[str, str | int | bytes]:
    """Returns metadata of the parent, from the record or the context."""
    path = known_text(data.get("ParentImage"))
    if parent is None:
        return {
            "parent_id": unknown_parent_id(ctx.sensor_id),
            "parent_name": file_name(path),
            "parent_path": path,
        }
    path = path or parent.path
    return {
        "parent_id": parent.id,
        "parent_name": file_name(path),
        "parent_path": path,
        "parent_pid": parent.pid,
        "parent_md5": ctx.md5_of_process(parent),
        "parent_sha256": parent.sha256,
        "parent_username": parent.username,
    }


def end(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    if known is None:
        return None
    return ended(known, ctx, time_us, number(data.get("ProcessId")))


def ended(
    known: ProcessState, ctx: HostContext, time_us: int, pid: int, exit_status: str = ""
) -> list[Outcome]:
    """Returns the end of a process, and the event of its parent if that is known."""
    values: dict[str, str | int | bytes] = {"terminated": 1, "end_time": time_us}
    if exit_status:
        values["exit_status"] = exit_status
    out: list[Outcome] = [Facts(known.id, time_us, values)]
    parent_id = ctx.parent_id_of(known)
    if parent_id:
        kind = ChildKind.EXEC if known.path.startswith("/") else ChildKind.OTHER
        out.append(
            Childproc(
                parent_id,
                time_us,
                0,
                kind,
                known.id,
                known.path,
                pid or known.pid,
                ctx.md5_of_process(known),
                known.sha256,
                "",
                known.username,
            )
        )
    known.report(out)
    return out


def tampered(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    known = subject_of(data, ctx, time_us)
    return (
        None if known is None else with_new_facts(Facts(known.id, time_us, {"tampered": 1}), known)
    )
