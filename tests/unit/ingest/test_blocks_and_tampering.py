"""Outcomes of blocks, suppressed children and tampering, in the format of each source."""

from typing import Any

import pytest
from msgspec.structs import asdict

from tests.support.sensor import event
from tests.unit.ingest.normalise.events import outcomes, sysmon
from tests.unit.ingest.test_unix_santa import SHA, line
from tests.unit.ingest.unix_records import merged, normalised, only
from vedette.model.event import (
    BLOCK_RESULT_UNKNOWN,
    Childproc,
    Crossproc,
    Facts,
    Filemod,
    Processblock,
    Regmod,
)
from vedette.model.fields import BLOCK_STATUSES
from vedette.model.ids import process_id_from_start

AT_US = 1_700_000_000_000_000
SHELL = process_id_from_start(1, 500, AT_US)


def of_sensor(kind: str, **members: Any) -> list[Any]:
    body = event(kind, AT_US + 5, 500, AT_US, **members)
    return normalised({**body, "hostname": "web1.example"})


@pytest.mark.parametrize(
    ("reported", "result"),
    [
        ({}, 0),
        ({"result": 6}, 6),
        *(({"result": name}, number) for number, name in enumerate(BLOCK_STATUSES)),
        ({"result": "E-NOTTERMINATEDWHITELISTPATH"}, 4),
        ({"result": 7}, BLOCK_RESULT_UNKNOWN),
        ({"result": -1}, BLOCK_RESULT_UNKNOWN),
        ({"result": "escaped"}, BLOCK_RESULT_UNKNOWN),
        ({"result": None}, 0),
        ({"result": [1]}, BLOCK_RESULT_UNKNOWN),
        ({"result": True}, BLOCK_RESULT_UNKNOWN),
    ],
)
def test_a_sensor_says_what_became_of_a_banned_program(
    reported: dict[str, Any], result: int
) -> None:
    (block,) = only(Processblock, of_sensor("block", path="/bad", md5="ab" * 16, **reported))
    assert (block.block_type, block.block_result) == (2, result)


def test_the_error_of_a_failed_termination_is_kept() -> None:
    reported = {"result": "g-NotTerminatedTerminateError", "error": 13}
    (block,) = only(Processblock, of_sensor("block", path="/bad", md5="ab" * 16, **reported))
    assert (block.block_result, block.block_error) == (6, 13)


def test_a_refused_connection_terminates_nobody() -> None:
    ends = {"local_ip": "10.0.0.1", "local_port": 1, "remote_ip": "1.1.1.1", "remote_port": 443}
    (block,) = only(Processblock, of_sensor("net", direction="out", proto=6, blocked=True, **ends))
    assert (block.block_type, block.block_result) == (1, BLOCK_RESULT_UNKNOWN)


def test_sysmon_blocks_the_file_and_not_the_process() -> None:
    record = sysmon(27, TargetFilename="C:\\bad.exe", Hashes="MD5=" + "ab" * 16, User="ann")
    (block,) = (one for one in outcomes(record) if type(one) is Processblock)
    assert block.block_result == BLOCK_RESULT_UNKNOWN


def test_a_program_that_santa_denies_does_not_run() -> None:
    (block,) = only(
        Processblock,
        normalised(
            line("action=FORK|pid=11|pidversion=8|ppid=1"),
            line(
                f"action=EXEC|decision=DENY|sha256={SHA}|pid=12|pidversion=90|ppid=11|uid=501|"
                "user=ann|path=/bad|args=bad"
            ),
        ),
    )
    assert block.block_result == 0


def test_a_child_that_a_sensor_suppressed_is_known_of_its_parent_alone() -> None:
    body = event(
        "start",
        AT_US + 9,
        501,
        AT_US + 9,
        path="/bin/true",
        cmdline="true --quiet",
        user="ann",
        ppid=500,
        parent_start_us=AT_US,
        parent_path="/bin/bash",
        md5="ab" * 16,
        suppressed=True,
    )
    end = event("end", AT_US + 20, 501, AT_US + 9, ppid=500, parent_start_us=AT_US, suppressed=True)
    out = normalised(*({**one, "hostname": "web1.example"} for one in (body, end)))
    started, ended = sorted(only(Childproc, out), key=lambda one: -one.started)
    child_id = process_id_from_start(1, 501, AT_US + 9)
    assert (started.process_id, started.child_id, started.suppressed) == (SHELL, child_id, 1)
    assert (started.command_line, started.username) == ("true --quiet", "ann")
    assert (ended.child_id, ended.started, ended.suppressed) == (child_id, 0, 1)
    assert set(merged(out)) == {SHELL}


def test_a_suppressed_start_without_a_parent_is_a_process() -> None:
    """Nothing is lost because a sensor suppressed what nobody else can tell."""
    body = event("start", AT_US, 501, AT_US, path="/bin/true", cmdline="true", suppressed=True)
    out = normalised({**body, "hostname": "web1.example"})
    assert [one for one in out if type(one) is Facts]


@pytest.mark.parametrize("reported", [True, False])
def test_a_sensor_says_that_somebody_tampers_with_it(reported: bool) -> None:
    there = {"pid": 9, "start_us": AT_US - 5, "path": "/usr/bin/vedette-sensor"}
    for kind, of, members in (
        ("file", Filemod, {"action": "delete", "path": "/var/lib/vedette-sensor/bans.json"}),
        ("proc", Crossproc, {"action": "kill", "target": there}),
    ):
        events = only(of, of_sensor(kind, **members, tamper=reported))
        assert events
        assert {asdict(one)["tamper"] for one in events} == {int(reported)}


@pytest.mark.parametrize(
    ("key", "tamper"),
    [
        ("HKLM\\System\\CurrentControlSet\\Services\\SysmonDrv\\Parameters\\Rules", 1),
        ("HKLM\\System\\CurrentControlSet\\Services\\Sysmon64\\Start", 1),
        ("HKLM\\System\\CurrentControlSet\\Services\\EventLog\\Security\\File", 1),
        ("HKLM\\System\\CurrentControlSet\\Services\\Spooler\\Start", 0),
        ("HKLM\\Software\\sysmon\\x", 0),
    ],
)
def test_a_change_of_what_records_is_potential_tampering(key: str, tamper: int) -> None:
    for event_id, more in ((13, {"Details": "x"}), (12, {"EventType": "DeleteValue"})):
        record = sysmon(event_id, TargetObject=key, **more)
        (found,) = (one for one in outcomes(record) if type(one) is Regmod)
        assert found.tamper == tamper
