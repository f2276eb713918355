"""`vedette sigma`: rules checked, and tried on a log of the simulated fleet."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.support.fleet_log import written
from vedette.cli.main import app

RULE = """title: A program of the system starts
id: 6f1c2a3b-8498-4b5b-8100-000000000001
level: medium
tags: [attack.execution, attack.t1059]
logsource:
  product: windows
  category: process_creation
detection:
  selection:
    Image|startswith: 'C:\\Windows\\'
    ParentImage|endswith: '.exe'
  condition: selection
"""
BAD = RULE.replace("process_creation", "no_such").replace("0001", "0002")


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules" / "windows"
    folder.mkdir(parents=True)
    (folder / "good.yml").write_text(RULE)
    (folder / "bad.yml").write_text(BAD)
    (folder / "twice.yml").write_text(RULE)
    (folder / "notes.txt").write_text("not a rule")
    return folder.parent


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["sigma", *map(str, arguments)])


def test_rules_that_cannot_be_evaluated_are_listed_with_file_and_reason(rules: Path) -> None:
    result = _run("check", rules, "--json")
    assert result.exit_code == 1
    body = json.loads(result.stdout)
    assert body["loaded"] == 1
    assert {
        Path(one["file"]).name.partition("#")[0]: one["reason"] for one in body["problems"]
    } == {
        "bad.yml": "unsupported_logsource",
        "twice.yml": "duplicate_id",
    }


def test_a_scan_finds_the_events_that_an_independent_look_finds(
    rules: Path, tmp_path: Path
) -> None:
    log = written(tmp_path / "fleet.json", 3_000, 4)
    wanted = 0
    for line in log.read_text().splitlines():
        winlog = json.loads(line)["winlog"]
        data = winlog["event_data"]
        wanted += (
            winlog["event_id"] == "1"
            and "Sysmon" in winlog["channel"]
            and data["Image"].lower().startswith("c:\\windows\\")
            and data["ParentImage"].lower().endswith(".exe")
        )
    result = _run("scan", rules, log, "--json")
    assert result.exit_code == 0, result.output
    hits = json.loads(result.stdout)
    assert len(hits) == wanted > 0
    assert hits == sorted(hits, key=lambda hit: hit["time"])
    assert {hit["title"] for hit in hits} == {"A program of the system starts"}
    assert hits[0]["techniques"] == ["T1059"]
    assert hits[0]["process_id"]
    assert set(hits[0]["matched"]) == {"Image", "ParentImage"}


def test_rules_below_the_level_are_not_asked(rules: Path, tmp_path: Path) -> None:
    log = written(tmp_path / "fleet.json", 500, 2)
    assert json.loads(_run("scan", rules, log, "--level", "high", "--json").stdout) == []
    refused = _run("scan", rules, log, "--level", "worst")
    assert (refused.exit_code, "--level" in refused.output) == (2, True)
