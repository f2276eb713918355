"""Watches a server process while it works: memory and processor time, from /proc."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_SETTLE_S_MAX = 180
_LOOK_S = 5

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Watch:
    """One sample a second."""

    seconds: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def last(self, seconds: float) -> "Watch":
        """The samples of the last so many seconds: a load generator prepares what it will send, and
        until then the server has nothing to do."""
        if not self.seconds:
            return self
        begin = self.seconds[-1] - seconds
        first = next(n for n, at in enumerate(self.seconds) if at >= begin)
        return Watch(self.seconds[first:], self.memory_mb[first:], self.cpu_s[first:])

    def memory_between(self, first: float, last: float) -> float:
        """Mean memory between two shares (0 to 1) of the time watched, MB."""
        count = len(self.memory_mb)
        part = self.memory_mb[int(count * first) : max(int(count * last), int(count * first) + 1)]
        return sum(part) / len(part)

    def cores(self) -> float:
        """Cores used on average."""
        if len(self.seconds) < 2:
            return 0.0
        return (self.cpu_s[-1] - self.cpu_s[0]) / (self.seconds[-1] - self.seconds[0])


@contextmanager
def watched(pid: int, *, is_timed: bool = False) -> Iterator[Watch]:
    """Samples the process and its children until the block ends. Where the process is timed
    meanwhile, its memory is what it alone uses, without files: anything else takes 40 ms of a core
    for each look, in which the process may neither map nor unmap memory."""
    memory_mb = _anonymous_mb if is_timed else _memory_mb
    watch, stop = Watch(), threading.Event()

    def sample() -> None:
        begin = time.monotonic()
        while not stop.wait(1.0):
            family = _family(pid)
            watch.seconds.append(time.monotonic() - begin)
            watch.memory_mb.append(sum(map(memory_mb, family)))
            watch.cpu_s.append(sum(map(_cpu_s, family)))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        stop.set()
        thread.join()


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its children so far."""
    return sum(map(_cpu_s, _family(pid)))


def directory_bytes(path: Path) -> int:
    """Bytes that a directory's files occupy, while the engine may be removing some of them."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(folder) / name).stat().st_blocks * 512
    return total


def wait_idle(data: Path, least_s: int) -> int:
    """Waits until background merges have come to rest: until the disk stays the same, looked at
    after so many seconds for the first time. Gives up after three minutes; returns the seconds."""
    time.sleep(least_s)
    size = directory_bytes(data)
    for seconds in range(least_s + _LOOK_S, _SETTLE_S_MAX, _LOOK_S):
        time.sleep(_LOOK_S)
        before, size = size, directory_bytes(data)
        if abs(size - before) < 0.002 * size:
            return seconds
    return _SETTLE_S_MAX


def _family(pid: int) -> list[int]:
    try:
        # Each thread has children of its own.
        children = [
            child
            for thread in Path(f"/proc/{pid}/task").iterdir()
            for child in (thread / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [pid, *(descendant for child in children for descendant in _family(int(child)))]


def _memory_mb(pid: int) -> float:
    """Memory of a process; of what it shares with others, its part."""
    return _counted_mb(pid, "smaps_rollup", "Pss:")


def _anonymous_mb(pid: int) -> float:
    """Memory of a process that belongs to no file, from counters. What it shares with the process
    that it was forked from counts for both."""
    return _counted_mb(pid, "status", "RssAnon:")


def _counted_mb(pid: int, file: str, name: str) -> float:
    try:
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0.0


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS
