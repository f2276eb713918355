"""Security, System and PowerShell records: processes by pid, objects, connections, services."""

import json
from typing import Any

import pytest

from tests.unit.ingest.normalise.events import (
    AT_US,
    GUID,
    ID,
    IMAGE,
    PARENT_GUID,
    PARENT_ID,
    SENSOR_ID,
    START_US,
    facts_of,
    only,
    other,
    outcomes,
    security,
    sysmon,
)
from vedette.ingest.channels import POWERSHELL, SYSTEM
from vedette.ingest.context.host_context import HOUR_US, HostContext
from vedette.ingest.decode import decode
from vedette.ingest.record import Record
from vedette.model.address import pack_address
from vedette.model.event import (
    Childproc,
    Crossproc,
    Facts,
    Filemod,
    Kept,
    Netconn,
    Regmod,
    Scriptblock,
)
from vedette.model.ids import process_id_from_start

START: dict[str, Any] = {
    "SubjectUserSid": "S-1-5-18",
    "SubjectUserName": "A$",
    "SubjectDomainName": "CORP",
    "SubjectLogonId": "0x3e7",
    "NewProcessId": "0x28",
    "NewProcessName": IMAGE,
    "ProcessId": "0x1e",
    "CommandLine": "cmd /c dir",
    "TargetUserSid": "S-1-0-0",
    "TargetUserName": "-",
    "TargetLogonId": "0x0",
    "ParentProcessName": "C:\\Windows\\explorer.exe",
    "MandatoryLabel": "S-1-16-12288",
}
STARTED_ID = process_id_from_start(SENSOR_ID, 40, AT_US)


def _at_start(record: Record) -> Record:
    record.time_us = START_US + 600_000
    return record


def test_a_start_without_sysmon_has_an_id_of_pid_and_start() -> None:
    facts = facts_of(STARTED_ID, security(4688, **START))
    assert facts["start"] == AT_US
    assert {name: facts[name] for name in ("path", "cmdline", "username", "uid")} == {
        "path": IMAGE,
        "cmdline": "cmd /c dir",
        "username": "CORP\\A$",
        "uid": "S-1-5-18",
    }
    assert (facts["process_pid"], facts["integrity_level"]) == (40, "High")
    assert (facts["parent_pid"], facts["parent_name"]) == (30, "explorer.exe")
    assert facts["creation_observed"] == 1


def test_a_start_is_a_child_of_the_process_that_has_the_parents_pid() -> None:
    explorer = "C:\\Windows\\explorer.exe"
    parent = sysmon(11, ProcessGuid=PARENT_GUID, ProcessId="30", Image=explorer)
    child = only(Childproc, security(4688, **START), parent)
    assert (child.process_id, child.child_id, child.command_line) == (
        PARENT_ID,
        STARTED_ID,
        "cmd /c dir",
    )


def test_a_start_for_another_account_names_that_account() -> None:
    target = {
        "TargetUserSid": "S-1-5-21-1",
        "TargetUserName": "ann",
        "TargetDomainName": "CORP",
        "TargetLogonId": "0x99",
    }
    facts = facts_of(STARTED_ID, security(4688, **START | target))
    assert (facts["username"], facts["uid"], facts["logon_id"]) == (
        "CORP\\ann",
        "S-1-5-21-1",
        "0x99",
    )


@pytest.mark.parametrize("sysmon_first", [True, False])
def test_a_start_that_sysmon_reports_too_is_one_process_with_one_child(sysmon_first: bool) -> None:
    records = [
        sysmon(1, UtcTime="2023-11-02 13:03:29.500", ParentProcessGuid=PARENT_GUID),
        _at_start(security(4688, **START)),
    ]
    found = outcomes(*(records if sysmon_first else reversed(records)))
    ids = {o.process_id for o in found if isinstance(o, Facts)}
    assert ids == {ID, PARENT_ID} | {i for i in ids if i not in (ID, PARENT_ID, STARTED_ID)}
    assert sum(isinstance(outcome, Childproc) for outcome in found) == 1
    assert facts_of(ID, *records)["uid"] == "S-1-5-18"


def test_an_end_is_that_of_the_process_with_the_pid() -> None:
    end = security(4689, ProcessId="0x28", ProcessName=IMAGE, Status="0xc0000005")
    end.time_us += 5_000_000
    records = (end, security(4688, **START))
    facts = facts_of(STARTED_ID, *records)
    assert (facts["terminated"], facts["exit_status"]) == (1, "3221225477")
    assert [o.started for o in outcomes(*records) if isinstance(o, Childproc)] == [0, 1]


def test_an_end_that_sysmon_reports_too_is_reported_once() -> None:
    end = security(4689, ProcessId="0x28", ProcessName=IMAGE, Status="0x1")
    records = (end, sysmon(5), sysmon(1, ParentProcessGuid=PARENT_GUID))
    assert [o.started for o in outcomes(*records) if isinstance(o, Childproc)] == [0, 1]
    assert facts_of(ID, *records)["exit_status"] == "1"


@pytest.mark.parametrize("hours", [-19, -5, 0, 8])
def test_the_clock_is_put_right_by_what_sysmon_shows(hours: int) -> None:
    seen = sysmon(11)
    record = security(4688, **START)
    for one in (seen, record):
        one.time_us += hours * HOUR_US
    assert outcomes(record, seen)[0].time_us == AT_US


_ACCESS = {"ProcessId": "0x28", "ProcessName": IMAGE, "AccessMask": "0x2"}


@pytest.mark.parametrize(
    ("kind", "name", "mask", "expected"),
    [
        ("File", "C:\\a", "0x2", [("Filemod", 2)]),
        ("File", "C:\\a", "0x4", [("Filemod", 2)]),
        ("File", "C:\\a", "0x10006", [("Filemod", 2), ("Filemod", 4)]),
        ("Key", "\\REGISTRY\\MACHINE\\A", "0x2", [("Regmod", 2)]),
        ("Key", "\\REGISTRY\\MACHINE\\A", "0x4", [("Regmod", 1)]),
        ("Key", "\\REGISTRY\\MACHINE\\A", "0x10000", [("Regmod", 4)]),
        ("File", "C:\\a", "0x1", []),
        ("Token", "x", "0x2", []),
    ],
)
def test_a_changed_object_is_an_event_and_a_read_one_a_record(
    kind: str, name: str, mask: str, expected: list[tuple[str, int]]
) -> None:
    data = _ACCESS | {"ObjectType": kind, "ObjectName": name, "AccessMask": mask}
    found = outcomes(security(4663, **data))
    events = [(type(o).__name__, o.operation) for o in found if isinstance(o, Filemod | Regmod)]
    assert events == expected
    assert [type(o) for o in found if isinstance(o, Kept)] == ([] if expected else [Kept])


@pytest.mark.parametrize("event_id", [4656, 4663])
def test_an_opened_process_is_a_cross_process_event(event_id: int) -> None:
    device = "\\Device\\HarddiskVolume2\\Windows\\lsass.exe"
    data = _ACCESS | {"ObjectType": "Process", "ObjectName": device, "AccessMask": "0x1410"}
    target = sysmon(11, ProcessGuid=PARENT_GUID, ProcessId="30", Image="C:\\Windows\\lsass.exe")
    learned = security(
        5156, ProcessID="30", Application=device.lower(), Direction="%%14593", Protocol="6"
    )
    event = only(Crossproc, security(event_id, **data), target, learned)
    assert (event.target_id, event.path) == (PARENT_ID, "C:\\Windows\\lsass.exe")
    assert (event.kind, event.subtype, event.access) == (2, 1, 0x1410)


def test_a_handle_to_a_file_is_a_record_until_it_is_used() -> None:
    data = _ACCESS | {"ObjectType": "File", "ObjectName": "C:\\a"}
    assert [type(outcome) for outcome in outcomes(security(4656, **data))] == [Kept]


@pytest.mark.parametrize(
    ("operation", "expected"), [("%%1904", 2), ("%%1905", 2), ("%%1906", 8), (None, 2)]
)
def test_a_changed_value_names_its_key_its_name_and_its_data(
    operation: str | None, expected: int
) -> None:
    data = {"ObjectName": "\\REGISTRY\\MACHINE\\A", "ObjectValueName": "B", "NewValue": "v"}
    event = only(Regmod, security(4657, **_ACCESS, **data, OperationType=operation))
    assert (event.operation, event.path, event.value) == (
        expected,
        "\\registry\\machine\\A\\B",
        "v",
    )


@pytest.mark.parametrize(
    ("direction", "protocol", "outbound", "local"),
    [
        ("%%14593", "6", 1, "10.0.0.5"),
        ("%%14592", "6", 0, "10.9.9.9"),
        ("%%14592", 17, 0, "10.0.0.5"),
    ],
)
def test_a_permitted_connection(direction: str, protocol: Any, outbound: int, local: str) -> None:
    record = security(
        5156,
        ProcessID=40,
        Application="\\device\\harddiskvolume2\\windows\\system32\\cmd.exe",
        Direction=direction,
        SourceAddress="10.0.0.5",
        SourcePort="50000",
        DestAddress="10.9.9.9",
        DestPort="443",
        Protocol=protocol,
    )
    event = only(Netconn, record, sysmon(11))
    assert (event.process_id, event.outbound, event.protocol) == (ID, outbound, int(protocol))
    assert event.local_ip == pack_address(local)


def test_the_path_of_a_connecting_process_gets_its_drive() -> None:
    application = "\\device\\harddiskvolume2\\app\\x.exe"
    seen = "\\device\\harddiskvolume2\\windows\\system32\\cmd.exe"
    records = [
        security(5156, ProcessID="99", Application=application, Protocol="6"),
        security(5156, ProcessID="40", Application=seen, Protocol="6"),
        sysmon(11),
    ]
    paths = {o.values.get("path") for o in outcomes(*records) if isinstance(o, Facts)}
    assert paths == {"C:\\app\\x.exe", IMAGE}


def test_a_logon_fills_the_type_of_its_processes_and_is_kept() -> None:
    logon = security(4624, TargetLogonId="0x3E7", LogonType="5")
    start = sysmon(1, LogonId="0x3e7")
    assert facts_of(ID, start, logon)["logon_type"] == 5
    assert only(Kept, start, logon).event_id == 4624


@pytest.mark.parametrize(
    "record",
    [
        other(SYSTEM, 7045, 40, ServiceName="evil", ImagePath="C:\\e.exe"),
        security(4697, ServiceName="evil", ServiceFileName="C:\\e.exe"),
    ],
)
def test_a_new_service_is_written_by_services_exe_and_kept(record: Record) -> None:
    services = sysmon(11, Image="C:\\Windows\\System32\\services.exe")
    event = only(Regmod, record, services)
    assert event.process_id == ID
    assert event.path == "\\registry\\machine\\system\\currentcontrolset\\services\\evil\\ImagePath"
    assert event.value == "C:\\e.exe"
    assert only(Kept, record, services).fields["ServiceName"] == "evil"


def test_a_script_block_is_of_the_process_that_logged_it() -> None:
    record = other(
        POWERSHELL,
        4104,
        40,
        MessageNumber="1",
        MessageTotal=2,
        ScriptBlockText="whoami",
        ScriptBlockId="AB-1",
        Path="-",
    )
    expected = Scriptblock(ID, AT_US, "ab-1", 1, 2, "whoami")
    assert only(Scriptblock, record, sysmon(11)) == expected


def test_a_script_block_of_nobody_is_kept_as_a_record() -> None:
    record = other(POWERSHELL, 4104, ScriptBlockText="whoami")
    assert [type(outcome) for outcome in outcomes(record)] == [Kept]


@pytest.mark.parametrize("value", [None, 5, [], {"a": 1}, True, -1, 1 << 70, "x", "0xzz"])
@pytest.mark.parametrize("event_id", [4624, 4656, 4657, 4663, 4688, 4689, 4697, 5156])
def test_no_value_of_any_type_breaks_a_record(event_id: int, value: Any) -> None:
    whole = START | _ACCESS | {"ObjectType": "Key", "ObjectName": "a", "Application": "b"}
    whole |= {"ServiceName": "s", "TargetLogonId": "0x1", "LogonType": "3", "Direction": "%%14593"}
    for name in whole:
        outcomes(security(event_id, **whole | {name: value}), sysmon(1, ProcessGuid=GUID))


def test_who_gives_kerberos_tickets_is_a_domain_controller() -> None:
    ctx = HostContext(SENSOR_ID)
    outcomes(security(4624), ctx=ctx)
    assert ctx.host_type == ""
    outcomes(security(4769, ServiceName="krbtgt"), ctx=ctx)
    assert ctx.host_type == "domain_controller"


_CONNECTED = (
    "The Windows Filtering Platform has permitted a connection.\r\n\r\n"
    "Application Information:\r\n\tProcess ID:\t\t3428\r\n\tApplication Name:\t\\device\\x.exe\r\n"
)


@pytest.mark.parametrize(
    ("message", "pid"),
    [
        (_CONNECTED, "3428"),
        (_CONNECTED.replace("Process ID:", "Prozess-ID:"), "3428"),
        (_CONNECTED.replace("\t\t3428", "\t\t-"), None),
        (_CONNECTED.replace("\tProcess ID:\t\t3428\r\n", ""), None),
        ("\t" * 100_000, None),
        ("", None),
    ],
)
def test_a_connection_whose_pid_stands_only_in_the_message_is_kept(
    message: str, pid: str | None
) -> None:
    """The format of NXLog in 2019: its own `ProcessID`, the logger's, replaced that of the
    event."""
    row = {
        "EventTime": "2019-10-27 14:51:00",
        "EventReceivedTime": "2019-10-27 14:51:02",
        "SourceModuleType": "im_msvistalog",
        "Hostname": "HR001.shire.com",
        "Channel": "Security",
        "SourceName": "Microsoft-Windows-Security-Auditing",
        "EventID": 5156,
        "RecordNumber": 5,
        "ProcessID": 4,
        "Application": "\\device\\x.exe",
        "Direction": "%%14593",
        "SourceAddress": "172.18.39.106",
        "SourcePort": "51234",
        "DestAddress": "10.0.10.106",
        "DestPort": "443",
        "Protocol": "6",
        "Message": message,
    }
    made = outcomes(*decode(json.dumps(row).encode()))
    reported = [one for one in made if isinstance(one, Netconn)]
    assert [one.remote_port for one in reported] == ([443] if pid else [])
    pids = {str(one.values.get("process_pid")) for one in made if isinstance(one, Facts)}
    assert pids == ({pid} if pid else set())


_WHOLE_MESSAGE = (
    "The Windows Filtering Platform has permitted a connection.\r\n\r\n"
    "Application Information:\r\n\tProcess ID:\t\t3428\r\n"
    "\tApplication Name:\t\\device\\harddiskvolume2\\app\\tool.exe\r\n\r\n"
    "Network Information:\r\n\tDirection:\t\tOutbound\r\n"
    "\tSource Address:\t\t2001:db8::5\r\n\tSource Port:\t\t51234\r\n"
    "\tDestination Address:\t2001:db8::106\r\n\tDestination Port:\t\t443\r\n"
    "\tProtocol:\t\t6\r\n\r\nFilter Information:\r\n\tFilter Run-Time ID:\t71\r\n"
)


@pytest.mark.parametrize("data", [{}, None])
@pytest.mark.parametrize("inside", [True, False])
def test_a_connection_that_winlogbeat_tells_in_its_message_alone_is_whole(
    data: dict[str, str] | None, inside: bool
) -> None:
    log: dict[str, Any] = {
        "channel": "Security",
        "computer_name": "a.example",
        "event_id": "5156",
        "record_id": 5,
        "provider_name": "Microsoft-Windows-Security-Auditing",
    }
    if data is not None:
        log["event_data"] = data
    document: dict[str, Any] = {"@timestamp": "2023-11-02T13:04:05.678Z", "winlog": log}
    (log if inside else document)["message"] = _WHOLE_MESSAGE
    made = outcomes(*decode(json.dumps(document).encode()))
    (event,) = [one for one in made if isinstance(one, Netconn)]
    assert (event.outbound, event.protocol, event.remote_port) == (1, 6, 443)
    assert event.local_ip == pack_address("2001:db8::5")
    assert event.remote_ip == pack_address("2001:db8::106")
    values = [one.values for one in made if isinstance(one, Facts)]
    assert ("tool.exe", 3428) in [
        (one.get("process_name"), one.get("process_pid")) for one in values
    ]


@pytest.mark.parametrize("cut", range(0, len(_WHOLE_MESSAGE), 37))
def test_a_message_that_ends_anywhere_breaks_nothing(cut: int) -> None:
    outcomes(security(5156, Message=_WHOLE_MESSAGE[:cut]))
