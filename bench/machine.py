"""Measures the speed of this machine during a benchmark: the memory of shared machines varies by a
factor of three from hour to hour, while a loop keeps its speed."""

import mmap
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

_NEW_BYTES = 256 * 1024 * 1024
_OBJECTS = 4_000_000
_STRIDE = 1_000_003
"""Prime, so that all objects are come by, each far from the last."""


@contextmanager
def gauged() -> Iterator[list[Figure]]:
    """Fills the list when the block ends: what a part's figures should be read with. Where all
    cores at once are slower than one, they share what is behind them, and two processes are not
    twice as fast as one."""
    figures: list[Figure] = []
    loop_s, together_s = _loop_s(), _together_s()
    new_s, cold_s = _new_memory_s(), _cold_objects_s()
    begin = _processor_ticks()
    yield figures
    taken, total = (end - start for end, start in zip(_processor_ticks(), begin, strict=True))
    figures += [
        Figure("machine: a loop of ten million in Python, before", loop_s, "s"),
        Figure("machine: the same on all cores at once", together_s, "s"),
        Figure("machine: the same loop after", _loop_s(), "s"),
        Figure("machine: 256 MB of new memory, before", new_s, "s"),
        Figure("machine: four million objects in no cache, before", cold_s, "s"),
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


def _new_memory_s() -> float:
    """To get pages from the system, once: who gave them back before pays for it again."""
    begin = time.perf_counter()
    with mmap.mmap(-1, _NEW_BYTES) as memory:
        for at in range(0, _NEW_BYTES, mmap.PAGESIZE):
            memory[at] = 1
        return time.perf_counter() - begin


def _cold_objects_s() -> float:
    """To look at objects all over the memory, as a server of many hosts does; the best of some."""
    objects = list(range(_OBJECTS))
    spread = [objects[number * _STRIDE % _OBJECTS] for number in range(_OBJECTS)]
    return min(_sum_s(spread) for _ in range(_LOOPS))


def _sum_s(numbers: list[int]) -> float:
    begin = time.perf_counter()
    sum(numbers)
    return time.perf_counter() - begin


def _processor_ticks() -> tuple[int, int]:
    """Ticks of all cores that other virtual machines took, and all ticks; since the start."""
    ticks = list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    return ticks[7], sum(ticks)


if __name__ == "__main__":
    print(_loop_s())
