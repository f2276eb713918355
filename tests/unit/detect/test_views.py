"""Records of every sender as events, under the names that rules use."""

from typing import Any

import pytest
from sigma.pipelines.common import windows_logsource_mapping

from vedette.detect.process_fields import process_lookup
from vedette.detect.rule_set import RuleSet
from vedette.detect.sigma.load import load_rules
from vedette.detect.views.event import Event
from vedette.detect.views.sources import CHANNEL_SERVICES, sources_of
from vedette.detect.views.unix import events_of_outcomes
from vedette.detect.views.windows import event_of_record
from vedette.ingest.channels import APPLICATION, DEFENDER, SECURITY, SYSMON, SYSMON_LINUX
from vedette.ingest.record import Record
from vedette.model.address import pack_address
from vedette.model.event import Dnsquery, Facts, Filemod, FileOperation, Netconn


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


@pytest.mark.parametrize(
    ("target", "logon"),
    [("0x0", "0x3e7"), ("", "0x3e7"), ("-", "0x3e7"), (None, "0x3e7"), ("0x5a1", "0x5a1")],
)
def test_a_4688_has_the_session_that_its_process_runs_in(target: str | None, logon: str) -> None:
    named = {} if target is None else {"TargetLogonId": target}
    event = _event(SECURITY, 4688, SubjectLogonId="0x3e7", **named)
    assert event.value("LogonId") == logon


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


def _event(channel: str, event_id: int, **data: Any) -> Event:
    return event_of_record(Record("windows", "h", 5, channel, event_id, data=data))


_KEY = "\\REGISTRY\\MACHINE\\SYSTEM\\ControlSet001\\Services\\x"


@pytest.mark.parametrize(
    ("kind", "value", "details"),
    [
        ("%%1876", "4", "DWORD (0x00000004)"),
        ("%%1876", "0x4", "DWORD (0x00000004)"),
        ("%%1876", "four", "four"),
        ("%%1883", str(2**32 + 3), "QWORD (0x00000001-0x00000003)"),
        ("%%1875", "00ff", "Binary Data"),
        ("%%1873", "C:\\a.exe", "C:\\a.exe"),
    ],
)
def test_a_4657_reads_like_a_registry_event_of_sysmon(kind: str, value: str, details: str) -> None:
    event = _event(
        SECURITY,
        4657,
        ObjectName=_KEY,
        ObjectValueName="Start",
        NewValueType=kind,
        NewValue=value,
        OperationType="%%1905",
        ProcessName="C:\\reg.exe",
        ProcessId="0x10",
    )
    assert event.sources == (
        "windows/registry_event",
        "windows/registry_set",
        "windows//security",
        "windows//",
    )
    names = ("TargetObject", "Details", "EventType", "Image", "ProcessId", "ObjectName")
    assert [event.value(name) for name in names] == [
        "HKLM\\System\\CurrentControlSet\\Services\\x\\Start",
        details,
        "SetValue",
        "C:\\reg.exe",
        "16",
        _KEY,
    ]


def test_a_4657_of_a_deleted_value_is_a_deletion() -> None:
    event = _event(
        SECURITY, 4657, ObjectName="\\REGISTRY\\USER\\S-1-5-21-1\\x", OperationType="%%1906"
    )
    assert "windows/registry_delete" in event.sources
    assert "windows/registry_set" not in event.sources
    assert event.value("TargetObject") == "HKU\\S-1-5-21-1\\x"


@pytest.mark.parametrize(("kind", "is_access"), [("File", True), ("Key", False), ("", False)])
def test_a_4663_of_a_file_is_an_access_of_it(kind: str, is_access: bool) -> None:
    event = _event(SECURITY, 4663, ObjectType=kind, ObjectName="C:\\k.db", ProcessName="C:\\a.exe")
    assert ("windows/file_access" in event.sources) is is_access
    assert (event.value("FileName"), event.value("Image")) == ("C:\\k.db", "C:\\a.exe")
    assert "windows//security" in event.sources


def test_a_blocked_connection_is_seen_by_rules_over_firewalls() -> None:
    event = _event(SECURITY, 5157, DestAddress="10.0.0.9", DestPort="23", Direction="%%14593")
    assert event.sources == ("windows/firewall", "windows//security", "windows//")
    assert [event.value(name) for name in ("dst_ip", "dst_port", "blocked", "action")] == [
        "10.0.0.9",
        "23",
        "true",
        "deny",
    ]


def test_what_defender_found_is_seen_by_rules_over_any_product() -> None:
    event = _event(
        DEFENDER, 1116, **{"Threat Name": "T", "Path": "file:_C:\\x", "Feature Name": "f"}
    )
    assert "windows/antivirus" in event.sources
    names = ("Signature", "Filename", "ThreatName", "Threat_Name", "Feature_Name")
    assert [event.value(name) for name in names] == ["T", "file:_C:\\x", "T", "T", "f"]


@pytest.mark.parametrize(
    "event_id", [*range(1006, 1013), 1015, 1017, 1018, 1019, 1115, 1116, 1117, 1118, 1119]
)
def test_every_event_about_malware_is_one_of_an_anti_malware_product(event_id: int) -> None:
    event = _event(DEFENDER, event_id, **{"Threat Name": "T"})
    assert (event.sources[0], event.value("Signature")) == ("windows/antivirus", "T")


def test_services_are_the_channels_that_public_rules_mean() -> None:
    """Services map like in pySigma. Loading a rule with a service that no sender reports fails."""
    differences = {}
    for service, channels in windows_logsource_mapping.items():
        if not sources_of("windows", None, service):
            continue
        for channel in [channels] if isinstance(channels, str) else channels:
            if service not in CHANNEL_SERVICES.get(channel.lower(), ()):
                differences[service] = channel
    assert differences == {}


def test_queries_are_seen_by_rules_over_any_sender_of_names() -> None:
    text = (
        "title: t\nlogsource:\n  category: dns\n"
        "detection:\n  a:\n    query|endswith: .example\n  condition: a\n"
    )
    judged = RuleSet(load_rules(text, "t.yml").rules)
    assert judged.judge(_event(SYSMON, 22, QueryName="a.example"))
    asked = Dnsquery("p", 1, "b.example", "10.0.0.1")
    (event,) = events_of_outcomes(Record("vedette", "h", 1, "dns"), [asked], "linux")
    assert judged.judge(event)
    answered = _event(SYSMON, 22, QueryName="a", QueryResults="type:  16 iex;")
    assert (answered.value("record_type"), answered.value("answer")) == ("TXT", "type:  16 iex;")


def test_values_that_stand_elsewhere_in_a_record_are_found() -> None:
    loaded = _event(SYSMON, 7, Hashes="MD5=0A,SHA256=0B,IMPHASH=0C", SignatureStatus="Revoked")
    names = ("md5", "sha256", "Imphash", "imphash", "sha1", "SignatureStatus")
    assert [loaded.value(name) for name in names] == ["0A", "0B", "0C", "0C", "", "Revoked"]
    crashed = _event(APPLICATION, 1000, **{f"param{n}": f"v{n}" for n in range(1, 9)})
    names = ("AppName", "ModuleName", "ExceptionCode", "Data")
    assert [crashed.value(name) for name in names] == ["v1", "v4", "v7", "v1 v2 v3 v4 v5 v6 v7 v8"]
    record = Record("windows", "h", 5, SECURITY, 4673, level=4, keywords="0x8010000000000000")
    event = event_of_record(record)
    assert (event.value("Level"), event.value("Keywords")) == ("4", "0x8010000000000000")


def test_metadata_of_the_processes_of_an_event_completes_it() -> None:
    facts: dict[str, dict[str, Any]] = {
        "p": {"cmdline": "a -x", "parent_path": "C:\\b.exe", "parent_id": "q"},
        "q": {"parent_path": "C:\\c.exe"},
        "t": {"parent_pid": 4},
    }
    known = process_lookup(
        lambda: "p", lambda one: facts.get(one, {}), is_creation=False, target_id=lambda: "t"
    )
    record = Record("windows", "h", 5, SYSMON, 8, data={"SourceImage": "C:\\a.exe"})
    event = event_of_record(record, "p", known)
    names = ("SourceCommandLine", "SourceParentImage", "GrandParentImage", "TargetParentProcessId")
    assert [event.value(name) for name in names] == ["a -x", "C:\\b.exe", "C:\\c.exe", "4"]


def test_a_file_that_is_written_to_is_seen_as_one_that_is_created() -> None:
    written = Filemod("p", 3, FileOperation.FIRST_WRITE, "/root/.ssh/authorized_keys")
    (event,) = events_of_outcomes(Record("auditd", "h", 1, "auditd"), [written], "linux")
    assert event.sources[0] == "linux/file_event"


def test_system_calls_have_names() -> None:
    data = {"SYSCALL": {"syscall": "103", "arch": "c000003e", "a0": "4"}}
    (event,) = events_of_outcomes(Record("auditd", "h", 1, "auditd", data=data), [], "linux")
    assert (event.value("SYSCALL"), event.value("a0")) == ("syslog", "4")
