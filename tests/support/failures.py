"""Writes the ids of the failed tests of a run to a file, one per line, for `scripts/run-tests`.

    pytest -n 4 -p tests.support.failures --failed-to=FILE

The next run takes them as `pytest @FILE`. Without a failure the file is not written.
"""

from pathlib import Path

import pytest


class Failures:
    """Collects the ids of failed tests and of modules that could not be collected."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._ids: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._ids[without_group(report.nodeid)] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._ids[report.nodeid] = None

    def pytest_sessionfinish(self) -> None:
        if self._ids:
            self._output.write_text("".join(f"{name}\n" for name in self._ids))


def without_group(name: str) -> str:
    """Returns a test id without the group that pytest-xdist appends to it after an `@`."""
    before, _, group = name.rpartition("@")
    return before if before and not set(group) & set(":]") else name


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failed-to", default="", help="write the ids of failed tests to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Collects in the controller only, which gets the reports of all workers."""
    if (output := config.getoption("failed_to")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(Path(output)), "failures")
