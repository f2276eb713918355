"""How fast this machine is while it measures: shared ones differ by three from hour to hour."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figure import Figure

_COUNT = 10_000_000
_LOOPS = 3


@contextmanager
def gauged() -> Iterator[list[Figure]]:
    """Fills the list when the block ends: what a part's figures should be read with. Where all
    cores at once are slower than one, they share what is behind them, and two processes are not
    twice as fast as one."""
    figures: list[Figure] = []
    loop_s, together_s, begin = _loop_s(), _together_s(), _processor_ticks()
    yield figures
    taken, total = (end - start for end, start in zip(_processor_ticks(), begin, strict=True))
    figures += [
        Figure("machine: a loop of ten million in Python, before", loop_s, "s"),
        Figure("machine: the same on all cores at once", together_s, "s"),
        Figure("machine: the same loop after", _loop_s(), "s"),
        Figure("machine: processor time taken by others", taken / max(total, 1), "of 1"),
    ]


def _loop_s() -> float:
    """The best of some loops."""
    return min(_one_loop_s() for _ in range(_LOOPS))


def _together_s() -> float:
    """The mean of such bests, of a process a core."""
    command = [sys.executable, "-m", "bench.machine"]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(os.cpu_count() or 1)
    ]
    return sum(float(one.communicate()[0]) for one in running) / len(running)


def _one_loop_s() -> float:
    begin = time.perf_counter()
    for _ in range(_COUNT):
        pass
    return time.perf_counter() - begin


def _processor_ticks() -> tuple[int, int]:
    """Ticks of all cores that other virtual machines took, and all ticks; since the start."""
    ticks = list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    return ticks[7], sum(ticks)


if __name__ == "__main__":
    print(_loop_s())
