"""An import that stores nothing of what it read says so, and programs see it by the exit code."""

import json
from pathlib import Path

import pytest

from tests.flow.test_import import run
from tests.support.sysmon import Host


def texts(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize("record", [
    {"what": "is this", "values": [1, 2, 3]},
    Host("quiet.example").record(999, 100),
], ids=["of no known shape", "that is not kept"])  # fmt: skip
def test_nothing_stored_is_said_and_seen_by_the_exit_code(tmp_path: Path, record: object) -> None:
    log = tmp_path / "unknown.json"
    log.write_text(texts(record, record))
    done = run(log, "--data", tmp_path / "data", "--json")
    assert done.returncode == 3
    assert "NOTHING WAS STORED of 2 records" in done.stderr
    assert json.loads(done.stdout)["stored"] == 0


def test_an_import_that_was_done_before_succeeds(tmp_path: Path) -> None:
    host = Host("known.example")
    process = host.process(5, "C:\\a.exe")
    log = tmp_path / "known.json"
    log.write_text(texts(host.of(process, 11, 1, TargetFilename="C:\\1.txt")))
    for _ in range(2):
        done = run(log, "--data", tmp_path / "data", "--json")
        assert done.returncode == 0, done.stderr
        assert "NOTHING" not in done.stderr
