"""Records of every sender as events, under the names that rules use."""

from vedette.detect.views.unix import events_of_outcomes
from vedette.detect.views.windows import event_of_record
from vedette.ingest.channels import SECURITY, SYSMON, SYSMON_LINUX
from vedette.ingest.record import Record
from vedette.model.address import pack_address
from vedette.model.event import Facts, Filemod, Netconn


def test_sysmon_events_have_their_category_and_their_own_names() -> None:
    record = Record("windows", "h", 5, SYSMON, 12, data={"EventType": "DeleteKey", "Image": "x"})
    event = event_of_record(record)
    assert event.sources == (
        "windows/registry_event",
        "windows/registry_delete",
        "windows//sysmon",
        "windows//",
    )
    assert (event.value("Image"), event.value("EventID"), event.value("No")) == ("x", "12", "")


def test_sysmon_for_linux_is_linux() -> None:
    event = event_of_record(Record("windows", "h", 5, SYSMON_LINUX, 1))
    assert event.sources == ("linux/process_creation", "linux//sysmon", "linux//")


def test_a_4688_reads_like_a_process_creation_of_sysmon() -> None:
    data = {
        "NewProcessName": "C:\\a.exe",
        "NewProcessId": "0x1f4",
        "ProcessId": "0x10",
        "ParentProcessName": "C:\\b.exe",
        "SubjectUserName": "bob",
        "SubjectDomainName": "CORP",
        "TargetUserName": "-",
    }
    event = event_of_record(Record("windows", "h", 5, SECURITY, 4688, data=data))
    assert event.sources[0] == "windows/process_creation"
    names = ("Image", "ParentImage", "ProcessId", "ParentProcessId", "User")
    assert [event.value(name) for name in names] == [
        "C:\\a.exe",
        "C:\\b.exe",
        "500",
        "16",
        "CORP\\bob",
    ]
    assert event.value("NewProcessName") == "C:\\a.exe"


def test_events_of_other_senders_have_sysmons_names() -> None:
    created = Facts("p", 1, {"creation_observed": 1, "path": "/bin/sh", "cmdline": "sh -c x"})
    connected = Netconn("p", 2, 0, 6, pack_address("10.0.0.1"), 22, pack_address("10.0.0.2"), 999)
    written = Filemod("p", 3, 1, "/tmp/x")
    record = Record("osquery", "h", 1, "process_events")
    events = list(events_of_outcomes(record, [created, connected, written], "linux"))
    assert [event.sources[0] for event in events] == [
        "linux/process_creation",
        "linux/network_connection",
        "linux/file_event",
    ]
    assert events[0].value("CommandLine") == "sh -c x"
    names = ("SourceIp", "DestinationIp", "DestinationPort", "Initiated")
    assert [events[1].value(name) for name in names] == ["10.0.0.2", "10.0.0.1", "22", "false"]
    assert events[2].value("TargetFilename") == "/tmp/x"


def test_audit_records_are_events_with_their_raw_members() -> None:
    data = {"SYSCALL": {"syscall": 59, "key": "x"}, "EXECVE": {"argc": 2, "ARGV": ["ls", "-l"]}}
    events = list(events_of_outcomes(Record("auditd", "h", 1, "auditd", data=data), [], "linux"))
    assert [event.value("type") for event in events] == ["SYSCALL", "EXECVE"]
    assert (events[1].value("a1"), events[1].sources) == ("-l", ("linux//auditd", "linux//"))
