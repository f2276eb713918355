"""A server without senders, on an empty store: its start, and its use of processor and memory.

Processor time and memory are those of the server and its workers. Memory is proportional (PSS):
pages that processes share count once. Anonymous memory is the part that the kernel cannot take
back while the server runs.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.figure import Figure, Outcome, Part
from vedette.cli.server_process import ServerProcess

REST_S: Final = 20.0
"""After the start, whose last work is no longer of the start."""
WATCHED_S: Final = 60.0
FIRST_S_MAX: Final = 2.0
RESTART_S_MAX: Final = 1.0
SHARE_MAX: Final = 0.5
MEMORY_MB_MAX: Final = 250


def run(room: Path) -> Outcome:
    data = room / "server"
    first_s, server = _started(data)
    server.stop()
    restart_s, server = _started(data)
    try:
        time.sleep(REST_S)
        pids = list(_family(server.pid))
        before = sum(map(_processor_s, pids))
        time.sleep(WATCHED_S)
        share = 100 * (sum(map(_processor_s, pids)) - before) / WATCHED_S
        memory = [_memory_mb(pid) for pid in pids]
    finally:
        server.stop()
    return Outcome(
        f"a server without senders, watched for {WATCHED_S:.0f} s",
        (
            Figure("first start until ready", first_s, "s", at_most=FIRST_S_MAX),
            Figure("restart until ready", restart_s, "s", at_most=RESTART_S_MAX),
            Figure("processor", share, "% of a core", at_most=SHARE_MAX),
            Figure("memory", sum(one[0] for one in memory), "MB", at_most=MEMORY_MB_MAX),
            Figure("of it anonymous", sum(one[1] for one in memory), "MB"),
        ),
        (f"{len(pids)} processes",),
    )


def _started(data: Path) -> tuple[float, ServerProcess]:
    begin = time.monotonic()
    server = ServerProcess(data, 0)
    server.wait_until_ready()
    return time.monotonic() - begin, server


def _family(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _family(int(child))


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int) -> tuple[float, float]:
    """Proportional memory, and the anonymous part of it."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    values = {
        name: int(rest.split()[0]) / 1_000 for name, _, rest in (x.partition(":") for x in lines)
    }
    return values["Pss"], values["Pss_Anon"]


PART = Part("idle", run)
