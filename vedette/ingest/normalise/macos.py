"""Processes of macOS: senders name them by pid and pidversion, which grows with every exec.

Both begin anew at boot, so they are no identity by themselves: a process is pid and time of its
exec (or fork), and `pid:pidversion` is a name under which it is found again until another
process takes that name.
"""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import Known
from vedette.ingest.normalise.unix import find_at, learn_executed, mention, process_at


def key(pid: int, version: int) -> str:
    return f"{pid}:{version}"


def learn_exec(
    ctx: HostContext,
    pid: int,
    version: int,
    time_us: int,
    path: str,
    username: str,
    parent_pid: int,
) -> Known:
    """Learns of an exec; from now on its pid and version mean the new process."""
    known = learn_executed(ctx, pid, time_us, path, username, parent_pid)
    if version:
        ctx.rename(key(pid, version), known)
    return known


def learn_fork(ctx: HostContext, pid: int, version: int, time_us: int, path: str) -> Known:
    """Learns of a child that runs its parent's image."""
    known = ctx.started(pid, time_us)
    known.learn(path=path)
    if version:
        ctx.rename(key(pid, version), known)
    return known


def learn_actor(
    ctx: HostContext, pid: int, version: int, time_us: int, path: str, start_us: int = 0
) -> None:
    """Learns of a process from an event that it did. `start_us`: when it was forked, if told."""
    if _named(ctx, pid, version, time_us) is not None:
        return
    if version and start_us and find_at(ctx, pid, time_us) is None:
        known = ctx.started(pid, start_us)
        known.learn(path=path)
        ctx.rename(key(pid, version), known)
    else:
        mention(ctx, pid, time_us, path)


def actor(ctx: HostContext, pid: int, version: int, time_us: int, path: str = "") -> Known:
    """The process that did an event."""
    return _named(ctx, pid, version, time_us) or process_at(ctx, pid, time_us, path)


def _named(ctx: HostContext, pid: int, version: int, time_us: int) -> Known | None:
    known = ctx.named(key(pid, version)) if version else None
    return known if known is not None and known.start_us <= time_us else None
