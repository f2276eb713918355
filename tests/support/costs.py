"""Processor time by test file, of the run and of all processes that it starts. It says what makes
a run long; how long a test takes says more about what else the machine does.

    make test ARGS="-p tests.support.costs"

What a file leaves running until later (a server of its package) counts where its time is used.
"""

import os
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
        self._before_s = spent_s(os.getpid())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Iterator[None]:
        found = yield
        if nextitem is None or nextitem.path != item.path:
            now_s = spent_s(os.getpid())
            self.by_file[item.nodeid.partition("::")[0]] += now_s - self._before_s
            self._before_s = now_s
        return found

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
    """Of a process and its descendants, with those of them that ended and were waited for."""
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
