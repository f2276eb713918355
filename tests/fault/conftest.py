"""Fixtures that several kinds of faults share, and the seeds of a run at its end."""

from collections.abc import Generator
from typing import Any

import pytest

from tests.fault import rounds
from tests.fault.test_store_integrity import filled

__all__ = ["filled"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if rounds.DRAWN:
        item.user_properties += [("seed", seed) for seed in rounds.DRAWN]
        rounds.DRAWN.clear()
    return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Names the seeds of the tests that passed, too; they come from all processes of the run."""
    if not rounds.is_long():
        return
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, seed in getattr(report, "user_properties", []):
                if name == "seed" and report.when == "call":
                    terminalreporter.write_line(
                        f"VEDETTE_TEST_SEED={seed} {report.nodeid}: {outcome}"
                    )
