"""Events between two processes: remote threads (Sysmon 8) and opens (Sysmon 10)."""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
from vedette.ingest.normalise.sysmon.subject import Data, source_of, target_of
from vedette.ingest.normalise.values import access_mask, known_text
from vedette.model.event import CrossKind, Crossproc, Outcome

_OPEN = int(CrossKind.PROCESS_OPEN)
_HANDLE_TO_PROCESS = 1
"""Sub-type of ProcessOpen for a handle to a process (docs/api-objects.md#process-events)."""

MIRRORED_ACCESS = 0xC08FB
"""Access rights to read, change, control or end a process: TERMINATE, CREATE_THREAD, VM_OPERATION,
VM_READ, VM_WRITE, DUP_HANDLE, CREATE_PROCESS, SUSPEND_RESUME, WRITE_DAC, WRITE_OWNER. An open with
any of them is also an event of the target. About 94% of all opens have none of them (0x1000,
0x1400: queries)."""


def opened(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    """Converts Sysmon 10, the most frequent event: an event of the source and, for MIRRORED_ACCESS,
    of the target."""
    get = data.get
    guid, target_guid = get("SourceProcessGUID"), get("TargetProcessGUID")
    source = (ctx.named(guid) if guid else None) or source_of(data, ctx, time_us)
    if source is None:
        return None
    target = (ctx.named(target_guid) if target_guid else None) or target_of(data, ctx, time_us)
    target_id, md5, sha256 = _identity(ctx, target)
    path, access = known_text(get("TargetImage")), access_mask(get("GrantedAccess") or "")
    # Positional arguments for speed: operation, target, image, sub-type, access.
    event = Crossproc(
        source.id, time_us, _OPEN, target_id, path, md5, sha256, _HANDLE_TO_PROCESS, access
    )
    out: list[Outcome] = [event]
    if access & MIRRORED_ACCESS and target is not None and target is not source:
        out.append(_suffered(data, ctx, time_us, access, source, target))
    if not source.is_reported:
        source.report(out)
    if target is not None and not target.is_reported:
        target.report(out)
    return out


def _suffered(
    data: Data,
    ctx: HostContext,
    time_us: int,
    access: int,
    source: ProcessState,
    target: ProcessState,
) -> Crossproc:
    """Returns the open as an event of its target."""
    source_id, md5, sha256 = _identity(ctx, source)
    return Crossproc(
        target.id,
        time_us,
        _OPEN,
        source_id,
        known_text(data.get("SourceImage")),
        md5,
        sha256,
        _HANDLE_TO_PROCESS,
        access,
        is_target=1,
    )


def _identity(ctx: HostContext, known: ProcessState | None) -> tuple[str, str, str]:
    """Returns id, md5 and sha256 of the other process; "" where unknown."""
    if known is None:
        return "", "", ""
    return known.id, known.md5 or ctx.md5_of(known.sha256), known.sha256


def thread_created(data: Data, ctx: HostContext, time_us: int) -> list[Outcome] | None:
    """Converts Sysmon 8: an event of the source, mirrored on the target."""
    source, target = source_of(data, ctx, time_us), target_of(data, ctx, time_us)
    if source is None:
        return None
    module, function = known_text(data.get("StartModule")), known_text(data.get("StartFunction"))
    out: list[Outcome] = []
    for process, other, image, is_target in (
        (source, target, data.get("TargetImage"), 0),
        (target, source, data.get("SourceImage"), 1),
    ):
        if process is None:
            continue
        other_id, md5, sha256 = _identity(ctx, other)
        out.append(
            Crossproc(
                process.id,
                time_us,
                CrossKind.REMOTE_THREAD,
                other_id,
                known_text(image),
                md5,
                sha256,
                is_target=is_target,
                start_module=module,
                start_function=function,
            )
        )
    source.report(out)
    if target is not None:
        target.report(out)
    return out
