"""The summary of `vedette import`."""

from typing import Any

import pytest

from vedette.cli.importing.import_summary import Summary, show


@pytest.mark.parametrize("conflicts", [0, 3])
def test_conflicts_are_shown_where_there_are_any(
    conflicts: int, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = Summary()
    summary.counts["conflicts"] = conflicts
    show(summary)
    body: dict[str, Any] = summary.body()
    assert body["conflicts"] == conflicts
    assert ("conflicts" in capsys.readouterr().out) is bool(conflicts)
