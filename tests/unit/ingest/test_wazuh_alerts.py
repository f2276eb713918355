"""Alerts of Wazuh become the events that they are about."""

import json
from typing import Any

import pytest

from tests.unit.ingest.normalise.events import SENSOR_ID, outcomes
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.decode import decode
from vedette.ingest.platform import os_type_of
from vedette.ingest.record import Record, RecordError
from vedette.model.event import Facts, Filemod, FileOperation, RegistryOperation, Regmod

_AT = "2024-01-02T03:04:06.100+0000"
_AT_US = 1_704_164_646_100_000


def _alert(**members: Any) -> dict[str, Any]:
    return {
        "timestamp": _AT,
        "rule": {"level": 3, "id": "550"},
        "agent": {"id": "001", "name": "Web-7", "ip": "10.0.0.7"},
        "manager": {"name": "wazuh"},
        "id": "1704164646.1",
    } | members


def _record(alert: Any) -> Record:
    (record,) = decode(json.dumps(alert).encode())
    return record


def _made(alert: Any) -> list[Any]:
    return outcomes(_record(alert), ctx=HostContext(SENSOR_ID))


def _audit(**members: Any) -> dict[str, Any]:
    audit = {
        "type": "SYSCALL",
        "id": "812",
        "arch": "c000003e",
        "syscall": "59",
        "success": "yes",
        "exit": "0",
        "ppid": "1200",
        "pid": "7001",
        "uid": "33",
        "command": "sh",
        "exe": "/bin/sh",
    }
    return _alert(data={"audit": audit | members})


def test_an_execve_is_a_start_at_the_time_of_its_log() -> None:
    alert = _audit(execve={"a0": "sh", "a1": "-c", "a2": "id"}, cwd="/srv")
    alert["full_log"] = "type=SYSCALL msg=audit(1704164645.678:812): arch=c000003e syscall=59"
    record = _record(alert)
    assert (record.vedette_record, record.host) == ("auditd", "web-7")
    assert record.time_us == 1_704_164_645_678_000
    facts = next(one for one in _made(alert) if isinstance(one, Facts) and "path" in one.values)
    expected = {"path": "/bin/sh", "cmdline": "sh -c id", "current_directory": "/srv", "uid": "33"}
    assert {name: facts.values.get(name) for name in expected} == expected


def test_an_event_of_the_archive_has_no_rule() -> None:
    alert = _audit() | {"decoder": {"name": "auditd"}}
    del alert["rule"]
    assert _record(alert).vedette_record == "auditd"


@pytest.mark.parametrize(
    "log",
    [
        "type=SYSCALL msg=audit(1704164645.678:813): another event",
        "user typed type=SYSCALL msg=audit(1600000000.000:812):",
        "x" * 300 + " msg=audit(1600000000.000:812):",
        ["type=SYSCALL msg=audit(1600000000.000:812):"],
    ],
)
def test_a_log_of_another_event_does_not_date_an_alert(log: Any) -> None:
    assert _record(_audit() | {"full_log": log}).time_us == _AT_US


@pytest.mark.parametrize(
    ("syscall", "operation"),
    [("87", FileOperation.DELETED), ("83", FileOperation.CREATED), ("0", None)],
)
def test_a_file_of_an_audit_event_is_what_its_call_did(syscall: str, operation: Any) -> None:
    made = _made(_audit(syscall=syscall, file={"name": "/tmp/run"}))
    found = [(one.operation, one.path) for one in made if isinstance(one, Filemod)]
    assert found == ([(operation, "/tmp/run")] if operation else [])


@pytest.mark.parametrize("path", ["C:\\tools\\sync.exe", "C:\\\\tools\\\\sync.exe"])
def test_doubled_backslashes_of_an_event_are_single(path: str) -> None:
    win = {
        "system": {
            "channel": "Security",
            "computer": "DESK-31",
            "eventID": "4688",
            "eventRecordID": "9",
            "systemTime": "2024-01-02T03:04:05.6789012Z",
            "severityValue": "AUDIT_SUCCESS",
        },
        "eventdata": {"newProcessId": "0x1404", "newProcessName": path, "commandLine": "a b"},
    }
    record = _record(_alert(data={"win": win}))
    assert (record.host, record.event_id, record.record_id) == ("desk-31", 4688, 9)
    assert (record.time_us, record.keywords) == (1_704_164_645_678_901, "0x8020000000000000")
    assert record.data == {
        "NewProcessId": "0x1404",
        "NewProcessName": "C:\\tools\\sync.exe",
        "CommandLine": "a b",
    }


def _change(path: str, event: str, **members: Any) -> dict[str, Any]:
    audit = {"process": {"id": "7001", "name": "/usr/bin/vi"}, "user": {"id": "0", "name": "root"}}
    return _alert(syscheck={"path": path, "event": event, "audit": audit, **members})


@pytest.mark.parametrize(
    ("event", "operation"),
    [
        ("added", FileOperation.CREATED),
        ("modified", FileOperation.FIRST_WRITE),
        ("deleted", FileOperation.DELETED),
    ],
)
def test_a_change_of_a_file_is_an_event_of_the_process_that_made_it(
    event: str, operation: int
) -> None:
    made = _made(_change("/etc/passwd", event, sha256_after="c" * 64))
    (found,) = [one for one in made if isinstance(one, Filemod)]
    assert (found.operation, found.path, found.sha256) == (operation, "/etc/passwd", "c" * 64)
    paths = [one.values.get("path") for one in made if isinstance(one, Facts)]
    assert "/usr/bin/vi" in paths


def test_a_change_of_a_registry_value_is_a_registry_event() -> None:
    key = "HKEY_LOCAL_MACHINE\\Software\\Ledger"
    alert = _change(key, "modified", value_name="Run")
    assert os_type_of(_record(alert)) == "windows"
    (found,) = [one for one in _made(alert) if isinstance(one, Regmod)]
    assert (found.operation, found.path) == (
        RegistryOperation.WRITTEN,
        "\\registry\\machine\\Software\\Ledger\\Run",
    )


@pytest.mark.parametrize(
    "alert",
    [
        _alert(syscheck={"path": "/etc/passwd", "event": "modified"}),
        _alert(data={"srcip": "10.0.0.1"}, full_log="sshd: failed"),
        _alert(),
    ],
    ids=["change without a process", "logon", "bare"],
)
def test_an_alert_about_no_process_makes_no_event(alert: Any) -> None:
    assert _made(alert) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"agent": {"id": "001"}}, "no_host"),
        ({"timestamp": None}, "no_time"),
        ({"timestamp": "yesterday"}, "bad_time"),
        (
            {
                "data": {
                    "win": {
                        "system": {
                            "eventID": "1",
                            "channel": "Microsoft-Windows-Sysmon/Operational",
                        }
                    }
                }
            },
            "unknown_format",
        ),
    ],
)
def test_an_alert_without_its_mandatory_members_is_rejected(change: Any, reason: str) -> None:
    for alert in (_audit(), _change("/etc/passwd", "modified")):
        with pytest.raises(RecordError) as refused:
            decode(json.dumps(alert | change).encode())
        assert refused.value.reason == reason


@pytest.mark.parametrize("value", [None, 5, "x", [], [1], {"a": [1]}, True, 1e300])
def test_a_member_of_a_wrong_type_does_not_raise(value: Any) -> None:
    for alert in (_audit(execve={"a0": "sh"}), _change("/etc/passwd", "modified")):
        for outer in ("data", "syscheck"):
            for name in alert.get(outer) or ():
                changed = alert | {outer: alert[outer] | {name: value}}
                outcomes(*decode(json.dumps(changed).encode()), ctx=HostContext(SENSOR_ID))
