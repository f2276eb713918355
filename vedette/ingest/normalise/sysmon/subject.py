"""Looks up the processes that a Sysmon event names; other shared parts of its makers.

An event names a process by ProcessGuid, pid, image and user. If the GUID is all zero or malformed,
the pid at the event's time decides.
"""

from collections.abc import Callable
from typing import Any

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.normalise.values import UNKNOWN_TEXT, known_text, number
from vedette.model.event import Outcome
from vedette.model.metadata_rank import Rank

_OWN = int(Rank.OWN)

SYSTEM_PID = 4
"""Pid of the System process, which loads drivers."""

Data = dict[str, Any]
Learn = Callable[[Data, HostContext, int], None]
"""Takes event data, the host context and the event time (us)."""

Make = Callable[[Data, HostContext, int], list[Outcome] | None]
"""Creates outcomes from event data, host context and event time; None if no process is named."""


def see_process(
    ctx: HostContext, guid: Any, pid: Any, image: Any, user: Any, rank: int = _OWN
) -> None:
    """Registers a process as named by an event. `rank` is the trust in the event as a source."""
    known = ctx.named(guid) if guid else None
    if known is None or (pid and pid != known.pid_sent):
        known = ctx.by_guid(guid, number(pid)) if guid else None
        if known is None:
            if number(pid):
                ctx.mention(number(pid), known_text(image))
            return
        known.pid_sent = pid
    if (image != known.path or known.path_rank < rank) and image not in UNKNOWN_TEXT and image:
        if known.path_rank <= rank:
            ctx.learn_path(known, known_text(image), rank)
        else:  # no better for this process, but usable to find a drive
            ctx.learn_drive(known_text(image))
    if (
        user
        and (user != known.username or known.username_rank < rank)
        and user not in UNKNOWN_TEXT
        and known.username_rank <= rank
    ):
        known.learn("", known_text(user), rank=rank)


def find_process(
    ctx: HostContext, guid: Any, pid: Any, image: Any, time_us: int
) -> ProcessState | None:
    """Returns the process that an event names, by ProcessGuid, else by pid at the event's time."""
    known = ctx.named(guid) if guid else None
    if known is not None:
        return known
    return _find_anew(ctx, guid, pid, image, time_us)


def _find_anew(
    ctx: HostContext, guid: Any, pid: Any, image: Any, time_us: int
) -> ProcessState | None:
    process_pid = number(pid)
    known = ctx.by_guid(guid, process_pid) if guid else None
    if known is None and process_pid:
        known = ctx.of_image(process_pid, time_us, known_text(image))
    return known


def subject_of(data: Data, ctx: HostContext, time_us: int) -> ProcessState | None:
    guid = data.get("ProcessGuid")
    known = ctx.named(guid) if guid else None
    if known is not None:
        return known
    return _find_anew(ctx, guid, data.get("ProcessId"), data.get("Image"), time_us)


def source_of(data: Data, ctx: HostContext, time_us: int) -> ProcessState | None:
    get = data.get
    guid = get("SourceProcessGUID") or get("SourceProcessGuid")
    return find_process(ctx, guid, get("SourceProcessId"), get("SourceImage"), time_us)


def target_of(data: Data, ctx: HostContext, time_us: int) -> ProcessState | None:
    get = data.get
    guid = get("TargetProcessGUID") or get("TargetProcessGuid")
    return find_process(ctx, guid, get("TargetProcessId"), get("TargetImage"), time_us)


def with_new_facts(event: Outcome, known: ProcessState) -> list[Outcome]:
    """Returns the event, and metadata of its process that were not emitted before."""
    out: list[Outcome] = [event]
    if not known.is_reported:
        known.report(out)
    return out


def report_image(data: Data, ctx: HostContext, path: str, time_us: int, out: list[Outcome]) -> None:
    hashes = data.get("Hashes")
    if path and hashes:
        ctx.learn_image(path, hashes, time_us).report(out)
