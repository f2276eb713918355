"""An import that stores nothing of what it read says so, and programs see it by the exit code."""

import json
from pathlib import Path

import pytest

from tests.flow.test_import import run
from tests.support.sysmon import Host

NOON_S = 1_700_049_600


def texts(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


UNKNOWN = {"what": "is this", "values": [1, 2, 3]}
NOT_KEPT = Host("quiet.example").record(999, NOON_S)
NOT_KEPT["winlog"] |= {"channel": "Vendor/Debug", "provider_name": "Vendor"}


@pytest.mark.parametrize(
    ("records", "code", "said"),
    [
        ([UNKNOWN, UNKNOWN], 2, "NOTHING READ from 1 files"),
        ([NOT_KEPT, NOT_KEPT | {"more": 1}], 3, "NOTHING STORED of 2 records"),
        ([NOT_KEPT, UNKNOWN], 3, "NOTHING STORED of 2 records"),
    ],
    ids=["of no known shape", "that is not kept", "both"],
)
def test_nothing_stored_is_said_and_seen_by_the_exit_code(
    tmp_path: Path, records: list[object], code: int, said: str
) -> None:
    log = tmp_path / "unknown.json"
    log.write_text(texts(*records))
    done = run(log, "--data", tmp_path / "data", "--json")
    assert done.returncode == code, done.stdout
    assert said in done.stderr
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
