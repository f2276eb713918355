"""Starts, ends and implicit processes of Sysmon: facts 1 to 6, 11 and 12 of
docs/telemetry-formats.md#real-world-data."""

from typing import Any

import pytest

from tests.unit.ingest.normalise.events import (
    AT,
    AT_US,
    GUID,
    HASHES,
    ID,
    IMAGE,
    MD5,
    PARENT_GUID,
    PARENT_ID,
    SENSOR_ID,
    SHA1,
    SHA256,
    START_US,
    facts_of,
    only,
    outcomes,
    sysmon,
)
from vedette.ingest.channels import SYSMON_LINUX
from vedette.ingest.context.host_context import HOUR_US, HostContext
from vedette.ingest.record import Record
from vedette.model.event import BinarySeen, Childproc, Facts, Filemod
from vedette.model.ids import unknown_parent_id

_PARENT_IMAGE = "C:\\Windows\\explorer.exe"
_START: dict[str, Any] = {
    "CommandLine": "cmd /c dir",
    "User": "CORP\\ann",
    "OriginalFileName": "Cmd.Exe",
    "IntegrityLevel": "High",
    "CurrentDirectory": "C:\\",
    "LogonId": "0x3E7",
    "TerminalSessionId": 0,
    "Hashes": HASHES,
    "Company": "Example",
    "ParentProcessGuid": PARENT_GUID,
    "ParentProcessId": "30",
    "ParentImage": _PARENT_IMAGE,
    "ParentCommandLine": "explorer",
    "ParentUser": "CORP\\bob",
}


def test_a_start_reports_all_metadata_of_its_process() -> None:
    assert facts_of(ID, sysmon(1, **_START)) == {
        "start": AT_US,
        "path": IMAGE,
        "process_name": "cmd.exe",
        "process_pid": 40,
        "process_guid": GUID[1:-1].lower(),
        "process_md5": MD5,
        "process_sha256": SHA256,
        "process_sha1": SHA1,
        "cmdline": "cmd /c dir",
        "username": "CORP\\ann",
        "creation_observed": 1,
        "original_filename": "Cmd.Exe",
        "integrity_level": "High",
        "current_directory": "C:\\",
        "logon_id": "0x3e7",
        "terminal_session_id": "0",
        "parent_id": PARENT_ID,
        "parent_pid": 30,
        "parent_path": _PARENT_IMAGE,
        "parent_name": "explorer.exe",
        "parent_cmdline": "explorer",
        "parent_username": "CORP\\bob",
    }


def test_a_start_reports_what_it_knows_of_its_parent_without_a_time() -> None:
    (parent,) = [
        outcome
        for outcome in outcomes(sysmon(1, **_START))
        if isinstance(outcome, Facts) and outcome.process_id == PARENT_ID
    ]
    assert parent.time_us == 0
    assert parent.values == {
        "process_guid": PARENT_GUID[1:-1].lower(),
        "process_pid": 30,
        "start": 0x65439E00 * 1_000_000,
        "path": _PARENT_IMAGE,
        "process_name": "explorer.exe",
        "username": "CORP\\bob",
        "cmdline": "explorer",
    }


def test_a_start_is_a_child_of_its_parent_and_a_binary() -> None:
    assert only(Childproc, sysmon(1, **_START)) == Childproc(
        PARENT_ID, AT_US, 1, 0, ID, IMAGE, 40, MD5, SHA256, "cmd /c dir", "CORP\\ann"
    )
    assert only(BinarySeen, sysmon(1, **_START)).values["company_name"] == "Example"


def test_a_start_on_linux_is_an_exec_without_hashes() -> None:
    record = sysmon(1, **_START | {"Image": "/bin/ls", "Hashes": "-"})
    record.channel = SYSMON_LINUX
    child = only(Childproc, record)
    assert (child.kind, child.md5) == (2, "")


def test_a_start_without_a_parent_names_the_unknown_one() -> None:
    unknown = {"ParentProcessGuid": "-", "ParentProcessId": "-", "ParentImage": "-"}
    record = sysmon(1, **_START | unknown)
    assert facts_of(ID, record)["parent_id"] == unknown_parent_id(SENSOR_ID)
    assert not [outcome for outcome in outcomes(record) if isinstance(outcome, Childproc)]


def test_the_hash_of_a_parent_is_known_when_its_own_start_is() -> None:
    parent = sysmon(1, ProcessGuid=PARENT_GUID, ProcessId="30", Hashes=HASHES)
    assert facts_of(ID, sysmon(1, **_START), parent)["parent_md5"] == MD5


def test_an_md5_comes_from_another_record_of_the_same_file() -> None:
    start = sysmon(1, **_START | {"Hashes": f"SHA256={SHA256}"})
    load = sysmon(7, ImageLoaded="C:\\x.exe", Hashes=f"MD5={MD5},SHA256={SHA256}")
    assert facts_of(ID, start, load)["process_md5"] == MD5


def test_an_end_is_reported_on_the_process_and_on_its_parent() -> None:
    end = sysmon(5, UtcTime="2023-11-02 13:05:00.000")
    child = next(o for o in outcomes(end, sysmon(1, **_START)) if isinstance(o, Childproc))
    assert (child.process_id, child.started, child.child_id, child.pid) == (PARENT_ID, 0, ID, 40)
    facts = facts_of(ID, end)
    assert facts["terminated"] == 1
    assert facts["end_time"] == AT_US + 54_322_000


def test_an_end_without_a_known_parent_is_reported_on_the_process_only() -> None:
    assert not [outcome for outcome in outcomes(sysmon(5)) if isinstance(outcome, Childproc)]


def test_a_process_is_known_without_its_start() -> None:
    assert facts_of(ID, sysmon(11, TargetFilename="C:\\a", User="CORP\\ann")) == {
        "process_guid": GUID[1:-1].lower(),
        "process_pid": 40,
        "start": START_US,
        "path": IMAGE,
        "process_name": "cmd.exe",
        "username": "CORP\\ann",
    }


def test_implicit_facts_are_reported_once() -> None:
    records = [sysmon(11, TargetFilename=f"C:\\{n}") for n in range(5)]
    assert sum(isinstance(outcome, Facts) for outcome in outcomes(*records)) == 1


def test_a_missing_pid_is_learned_from_another_record() -> None:
    without = sysmon(7, ImageLoaded="C:\\a.dll")
    del without.data["ProcessId"]
    assert facts_of(ID, without, sysmon(11))["process_pid"] == 40


@pytest.mark.parametrize(
    "image", ["<unknown process>", "&lt;unknown process&gt;", "-", "(null)", "", None]
)
def test_an_unknown_image_is_not_reported(image: str | None) -> None:
    assert "path" not in facts_of(ID, sysmon(11, Image=image))


def test_a_zero_guid_is_the_process_of_its_pid() -> None:
    lost = sysmon(22, ProcessGuid="{00000000-0000-0000-0000-000000000000}", QueryName="a.example")
    assert outcomes(lost, sysmon(11))[0].process_id == ID


def test_the_time_is_that_of_the_event_and_not_of_the_envelope() -> None:
    record = sysmon(11)
    record.time_us -= 19 * HOUR_US
    assert only(Filemod, record).time_us == AT_US


@pytest.mark.parametrize("time", ["1601-01-01 00:00:00.000", "-", "", None])
def test_an_event_without_a_time_of_its_own_has_that_of_the_envelope(time: str | None) -> None:
    assert only(Filemod, sysmon(11, UtcTime=time)).time_us == AT_US


def test_hosts_have_processes_of_their_own() -> None:
    one, two = (outcomes(sysmon(11), ctx=HostContext(n))[0] for n in (1, 2))
    assert one.process_id[8:] == two.process_id[8:]
    assert one.process_id[:8] != two.process_id[:8]


@pytest.mark.parametrize("name", sorted(sysmon(1, **_START).data))
@pytest.mark.parametrize("value", [None, 5, 1.5, True, [], ["x"], {"a": 1}, "\x00", "{", "9" * 50])
def test_no_value_of_any_type_breaks_a_start(name: str, value: Any) -> None:
    outcomes(sysmon(1, **_START | {name: value}))


_ANY: dict[int, dict[str, Any]] = {
    2: {"TargetFilename": "a", "CreationUtcTime": AT},
    3: {"Protocol": "tcp", "SourceIp": "1.2.3.4", "SourcePort": "1", "Initiated": "true"},
    5: {},
    6: {"ImageLoaded": "a", "Hashes": HASHES},
    7: {"ImageLoaded": "a", "Hashes": HASHES, "Signed": "true", "SignatureStatus": "Valid"},
    8: {"SourceProcessGuid": GUID, "TargetProcessGuid": PARENT_GUID, "StartModule": "a"},
    10: {"SourceProcessGUID": GUID, "TargetProcessGUID": PARENT_GUID, "GrantedAccess": "0x1"},
    12: {"TargetObject": "a", "EventType": "CreateKey", "Message": "EventType: x"},
    13: {"TargetObject": "a", "Details": "b"},
    14: {"TargetObject": "a", "NewName": "b"},
    15: {"TargetFilename": "a", "Hash": HASHES, "Contents": "b"},
    17: {"PipeName": "a"},
    22: {"QueryName": "a", "QueryStatus": "0", "QueryResults": "1.2.3.4;"},
    23: {"TargetFilename": "a", "Hashes": HASHES, "Archived": "true"},
    27: {"TargetFilename": "a", "Hashes": HASHES},
    29: {"TargetFilename": "a", "Hashes": HASHES, "IsExecutable": "true"},
}


@pytest.mark.parametrize("value", [None, 5, [], ["x"], {"a": 1}, True, -1, 1 << 70, "\ud7ff"])
@pytest.mark.parametrize("event_id", _ANY)
def test_no_value_of_any_type_breaks_an_event_or_gets_into_it(event_id: int, value: Any) -> None:
    whole = sysmon(event_id, **_ANY[event_id])
    for name in whole.data:
        found = outcomes(sysmon(event_id, **_ANY[event_id] | {name: value}))
        assert found, name
        for outcome in found:
            _check_types(outcome)


def _check_types(outcome: Any) -> None:
    for name in outcome.__struct_fields__:
        value = getattr(outcome, name)
        wanted = type(outcome).__annotations__[name]
        assert isinstance(value, wanted if isinstance(wanted, type) else dict), (name, value)


def test_events_are_those_of_the_native_dialect_too() -> None:
    record = Record("windows", "a", AT_US, sysmon(11).channel, 11, data=sysmon(11).data)
    assert outcomes(record) == outcomes(sysmon(11))
