"""`vedette sigma import`, `list`, `enable`, `disable`, `delete`: the rules of a stopped server."""

import io
import json
import os
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.support.started_state import put_started_state
from vedette.cli.main import app

RULE = """title: Rule {number}
id: 6f1c2a3b-8498-4b5b-8100-00000000000{number}
level: {level}
logsource:
  product: windows
  category: {category}
detection:
  selection:
    Image|endswith: '.exe'
  condition: selection
"""
FIRST = "6f1c2a3b-8498-4b5b-8100-000000000001"


def rule(number: int, level: str = "high", category: str = "process_creation") -> str:
    return RULE.format(number=number, level=level, category=category)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data directory of a server that has been started once."""
    put_started_state(tmp_path, 1)
    return tmp_path


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["sigma", *map(str, words)])


def archive(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            made.addfile(member, io.BytesIO(text.encode()))
    return path


def listed(data: Path, *words: str) -> list[dict[str, object]]:
    result = run("list", *words, "--data", data, "--json")
    assert result.exit_code == 0, result.output
    found: list[dict[str, object]] = json.loads(result.stdout)
    return found


def test_files_directories_and_archives_are_imported(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "one.yml").write_text(rule(1))
    (folder / "low.yaml").write_text(rule(2, "low"))
    (folder / "notes.md").write_text("no rule")
    packed = archive(
        tmp_path / "more.tar.gz",
        {"../three.yml": rule(3), "bad/four.yml": rule(4, category="no_such"), "x.txt": "x"},
    )
    result = run("import", folder, packed, "--data", data, "--json")
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout)
    assert body["changes"] == {"added": 4}
    [problem] = body["problems"]
    assert (problem["place"], problem["reason"]) == ("bad/four.yml#1", "unsupported_logsource")
    assert {one["title"]: one["state"] for one in listed(data)} == {
        "Rule 1": "pending",
        "Rule 2": "disabled",
        "Rule 3": "pending",
        "Rule 4": "unsupported",
    }
    again = run("import", folder, "--enable", "--data", data)
    assert "unchanged" in again.output
    assert [one["title"] for one in listed(data, "--level", "low")] == ["Rule 2"]
    assert listed(data, "--level", "low")[0]["state"] == "pending"


def test_a_dry_run_names_what_is_refused_and_keeps_nothing(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "some.yml"
    file.write_text(rule(1) + "---\n" + rule(2, category="no_such"))
    shown = run("import", file, "--dry-run", "--data", data)
    assert shown.exit_code == 0, shown.output
    assert f"some.yml:{rule(1).count(chr(10)) + 2}" in shown.output
    assert "unsupported_logsource" in shown.output
    assert listed(data) == []


def test_rules_are_switched_and_deleted(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.yml"
    file.write_text(rule(1))
    run("import", file, "--data", data)
    assert run("disable", FIRST, "--data", data).exit_code == 0
    assert listed(data, "--state", "disabled")[0]["id"] == FIRST
    assert run("enable", FIRST, "--data", data).exit_code == 0
    assert run("disable", "nobody", "--data", data).exit_code == 2
    assert run("list", "--state", "great", "--data", data).exit_code == 2
    assert run("delete", FIRST, "--data", data).exit_code == 0
    assert listed(data) == []
    assert "Rule 1" not in run("list", "--data", data).output


@pytest.mark.parametrize("content", [b"\x1f\x8b broken", b"", b"not an archive"])
def test_a_broken_archive_is_one_line(content: bytes, data: Path, tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(content)
    result = run("import", tmp_path / "x.tar.gz", "--data", data)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert listed(data) == []


@pytest.mark.parametrize("kind", ["link", "link of a folder", "pipe"])
def test_rules_of_others_lead_to_no_file_outside_of_their_folder(
    data: Path, tmp_path: Path, kind: str
) -> None:
    folder, outside = tmp_path / "rules", tmp_path / "outside.yml"
    folder.mkdir()
    outside.write_text(rule(1))
    (folder / "good.yml").write_text(rule(2))
    (folder / "inside.yml").symlink_to("good.yml")
    match kind:
        case "link":
            (folder / "x.yml").symlink_to(outside)
        case "link of a folder":
            (folder / "x.yml").symlink_to(tmp_path)
        case _:
            os.mkfifo(folder / "x.yml")
    result = run("import", folder, "--data", data)
    assert result.exit_code != 0
    assert "x.yml" in result.output
    assert listed(data) == []
