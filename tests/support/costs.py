"""Processor time by test file, of the run and of all processes that it starts. It says what makes
a run long; how long a test takes says more about what else the machine does.

    make test ARGS="-p tests.support.costs"

What a file leaves running until later (a server of its package) counts where its time is used.
With `VEDETTE_TEST_COSTS` each worker also appends each file, as soon as it is done, to the file of
that name: a line of JSON with `file`, `cpu_s`, `wall_s` and `tests`.
"""

import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SHOWN = 40
_TICKS = os.sysconf("SC_CLK_TCK")


class Costs:
    """Seconds by file; of this process, and in the controller of all workers."""

    def __init__(self) -> None:
        self.by_file: Counter[str] = Counter()
        self._lines = os.environ.get("VEDETTE_TEST_COSTS", "")
        self._before_s = spent_s(os.getpid())
        self._began_s = time.monotonic()
        self._tests = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Iterator[None]:
        handled = yield
        self._tests += 1
        if nextitem is None or nextitem.path != item.path:
            self._count(item.nodeid.partition("::")[0])
        return handled

    def _count(self, file: str) -> None:
        """Counts what was spent since the last file for a file that is done."""
        now_s, ended_s = spent_s(os.getpid()), time.monotonic()
        cpu_s, wall_s = now_s - self._before_s, ended_s - self._began_s
        self.by_file[file] += cpu_s
        if self._lines:
            line = {"file": file, "cpu_s": round(cpu_s, 2), "wall_s": round(wall_s, 2)}
            with Path(self._lines).open("a") as output:
                output.write(json.dumps(line | {"tests": self._tests}) + "\n")
        self._before_s, self._began_s, self._tests = now_s, ended_s, 0

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["costs"] = dict(self.by_file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.by_file.update(getattr(node, "workeroutput", {}).get("costs", {}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section(f"processor time: {sum(self.by_file.values()):.0f} s in tests")
        for name, seconds in self.by_file.most_common(SHOWN):
            terminalreporter.write_line(f"{seconds:8.1f} s {name}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs())


def spent_s(root: int) -> float:
    """Returns the CPU time (s) of a process and its descendants, including exited and reaped
    descendants."""
    ticks, children = dict[int, int](), defaultdict[int, list[int]](list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(path.parent.name)
        ticks[pid] = sum(map(int, fields[11:15]))
        children[int(fields[1])].append(pid)
    found, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        found += ticks.get(pid, 0)
        waiting += children[pid]
    return found / _TICKS
