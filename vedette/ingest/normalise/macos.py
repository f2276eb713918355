"""Identity of macOS processes, which senders name by pid and pidversion.

pidversion grows with every exec, but both restart at boot, so they do not identify a process. A
process is identified by its pid and the time of its exec or fork. `pid:pidversion` is an alias that
finds the process until another process takes over the alias.
"""

from vedette.ingest.context.host_context import HostContext
from vedette.ingest.context.process_state import ProcessState
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
) -> ProcessState:
    """Registers an exec. pid and version then refer to the new process."""
    known = learn_executed(ctx, pid, time_us, path, username, parent_pid)
    if version:
        ctx.rename(key(pid, version), known)
    return known


def learn_fork(ctx: HostContext, pid: int, version: int, time_us: int, path: str) -> ProcessState:
    """Registers a forked child, which runs the image of its parent."""
    known = ctx.started(pid, time_us)
    known.learn(path=path)
    if version:
        ctx.rename(key(pid, version), known)
    return known


def learn_actor(
    ctx: HostContext, pid: int, version: int, time_us: int, path: str, start_us: int = 0
) -> None:
    """Registers the process that caused an event. `start_us` is the time of its fork, 0 if
    unknown."""
    if _named(ctx, pid, version, time_us) is not None:
        return
    if version and start_us and find_at(ctx, pid, time_us) is None:
        known = ctx.started(pid, start_us)
        known.learn(path=path)
        ctx.rename(key(pid, version), known)
    else:
        mention(ctx, pid, time_us, path)


def actor(ctx: HostContext, pid: int, version: int, time_us: int, path: str = "") -> ProcessState:
    """Returns the process that caused an event."""
    return _named(ctx, pid, version, time_us) or process_at(ctx, pid, time_us, path)


def _named(ctx: HostContext, pid: int, version: int, time_us: int) -> ProcessState | None:
    known = ctx.named(key(pid, version)) if version else None
    return known if known is not None and known.start_us <= time_us else None
