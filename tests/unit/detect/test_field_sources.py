"""Where the value of each Sigma field comes from, for every supported Windows event id.

A field that the table does not name is the event's own member of that name, also where an event has
both. A field that is derived without a row of the table fails here.
"""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from vedette.detect.views import security
from vedette.detect.views.event import Event
from vedette.detect.views.sources import CHANNEL_SERVICES, SYSMON_CATEGORIES
from vedette.detect.views.windows import LOOKED_UP, event_of_record
from vedette.ingest import channels
from vedette.ingest.normalise.keep import IDS, WHOLE
from vedette.ingest.record import Record

_CONNECTION: Final = {
    "Image": "Application",
    "ProcessId": "ProcessID",
    "Initiated": "Direction",
    "SourceIp": "SourceAddress",
    "SourcePort": "SourcePort",
    "DestinationIp": "DestAddress",
    "DestinationPort": "DestPort",
    "Protocol": "Protocol",
    "src_ip": "SourceAddress",
    "src_port": "SourcePort",
    "dst_ip": "DestAddress",
    "dst_port": "DestPort",
    "action": "the event id",
    "blocked": "the event id",
}
_FILE: Final = {
    "Image": "ProcessName",
    "FileName": "ObjectName",
    "TargetFilename": "ObjectName",
    "ProcessId": "ProcessId",
    "User": "TargetDomainName\\TargetUserName, else SubjectDomainName\\SubjectUserName",
}

SECURITY_FIELDS: Final[dict[int, dict[str, str]]] = {
    4656: _FILE,
    4657: {
        "Image": "ProcessName",
        "ProcessId": "ProcessId",
        "TargetObject": "ObjectName\\ObjectValueName",
        "Details": "NewValueType, NewValue",
        "EventType": "OperationType",
        "User": "TargetDomainName\\TargetUserName, else SubjectDomainName\\SubjectUserName",
    },
    4663: _FILE,
    4688: {
        "Image": "NewProcessName",
        "CommandLine": "CommandLine",
        "ParentImage": "ParentProcessName",
        "ProcessId": "NewProcessId",
        "ParentProcessId": "ProcessId",
        "User": "TargetDomainName\\TargetUserName, else SubjectDomainName\\SubjectUserName",
        "IntegrityLevel": "MandatoryLabel",
        "LogonId": "TargetLogonId, else SubjectLogonId",
    },
    5156: _CONNECTION,
    5157: _CONNECTION,
}
"""Fields of Security events that are not the member of the same name alone."""

MEMBERS: Final[dict[str, tuple[dict[str, str], str]]] = {
    "Application": ({"Application": "\\device\\a.exe"}, "\\device\\a.exe"),
    "ProcessID": ({"ProcessID": "77"}, "77"),
    "Direction": ({"Direction": "%%14592"}, "false"),
    "SourceAddress": ({"SourceAddress": "10.0.0.1"}, "10.0.0.1"),
    "SourcePort": ({"SourcePort": "1024"}, "1024"),
    "DestAddress": ({"DestAddress": "10.0.0.2"}, "10.0.0.2"),
    "DestPort": ({"DestPort": "443"}, "443"),
    "Protocol": ({"Protocol": "6"}, "6"),
    "ProcessName": ({"ProcessName": "C:\\p.exe"}, "C:\\p.exe"),
    "ObjectName": ({"ObjectName": "C:\\k.db"}, "C:\\k.db"),
    "ProcessId": ({"ProcessId": "0x10"}, "16"),
    "NewProcessName": ({"NewProcessName": "C:\\n.exe"}, "C:\\n.exe"),
    "NewProcessId": ({"NewProcessId": "0x1f4"}, "500"),
    "CommandLine": ({"CommandLine": "n -x"}, "n -x"),
    "ParentProcessName": ({"ParentProcessName": "C:\\b.exe"}, "C:\\b.exe"),
    "MandatoryLabel": ({"MandatoryLabel": "S-1-16-12288"}, "High"),
    "OperationType": ({"OperationType": "%%1906"}, "DeleteValue"),
    "ObjectName\\ObjectValueName": (
        {"ObjectName": "\\REGISTRY\\MACHINE\\Software\\x", "ObjectValueName": "v"},
        "HKLM\\Software\\x\\v",
    ),
    "NewValueType, NewValue": ({"NewValueType": "%%1876", "NewValue": "1"}, "DWORD (0x00000001)"),
}
"""Maps source to (members, resulting value)."""

ALTERNATIVES: Final[dict[str, tuple[tuple[dict[str, str], str], ...]]] = {
    "TargetDomainName\\TargetUserName, else SubjectDomainName\\SubjectUserName": (
        ({"TargetUserName": "t", "TargetDomainName": "D", "SubjectUserName": "s"}, "D\\t"),
        ({"TargetUserName": "-", "SubjectUserName": "s", "SubjectDomainName": "E"}, "E\\s"),
        ({"SubjectUserName": "s"}, "s"),
    ),
    "TargetLogonId, else SubjectLogonId": (
        ({"TargetLogonId": "0x5a1", "SubjectLogonId": "0x3e7"}, "0x5a1"),
        ({"TargetLogonId": "0x0", "SubjectLogonId": "0x3e7"}, "0x3e7"),
        ({"SubjectLogonId": "0x3e7"}, "0x3e7"),
    ),
}

ENVELOPE: Final = {
    "EventID": "7",
    "Channel": "Channel",
    "EventLog": "Channel",
    "Provider_Name": "Provider",
    "Computer": "host.example",
    "ComputerName": "host.example",
    "Hostname": "host.example",
    "Level": "2",
    "Keywords": "0x80",
}
"""Fields that the envelope of every event answers where the event has no such member."""

MEMBERS_ELSEWHERE: Final = {
    "Data": "param1, param2, ...",
    "Message": "param1, param2, ...",
    "InterfaceUuid": "the first value of RPC Firewall that is a UUID",
    "OpNum": "the value of RPC Firewall after the UUID",
    "query": "QueryName",
    "answer": "QueryResults",
    "record_type": "QueryResults",
    **{f"{one}": "Hashes or Hash" for one in ("md5", "MD5", "Md5", "sha1", "SHA1", "Sha1")},
    **{f"{one}": "Hashes or Hash" for one in ("sha256", "SHA256", "Sha256")},
    **{f"{one}": "Hashes or Hash" for one in ("imphash", "IMPHASH", "Imphash")},
    **{
        name: f"param{number} of Application 1000"
        for number, name in enumerate(
            (
                "AppName",
                "AppVersion",
                "AppTimeStamp",
                "ModuleName",
                "ModuleVersion",
                "ModuleTimeStamp",
                "ExceptionCode",
                "FaultingOffset",
            ),
            1,
        )
    },
    "SourceCommandLine": "the command line of the process that acts",
    "SourceParentImage": "the parent of the process that acts",
    "SourceParentCommandLine": "the parent of the process that acts",
}
"""Fields that other members of an event answer where the event has no such member."""

DEFENDER_FIELDS: Final = {
    "Signature": "Threat Name",
    "ThreatName": "Threat Name",
    "Threat_Name": "Threat Name",
    "Filename": "Path",
    "SourceName": "Source Name",
    "ProcessName": "Process Name",
}
"""Members of Defender have spaces in their names."""


def _supported() -> Iterator[tuple[str, int]]:
    """Channels and ids of all events that rules may ask for by id."""
    for channel, ids in IDS:
        if channel.lower() in CHANNEL_SERVICES:
            yield from ((channel, one) for one in ids)
    yield from ((channels.SYSMON, one) for one in SYSMON_CATEGORIES)
    yield from ((channel, 1) for channel in WHOLE if channel.lower() in CHANNEL_SERVICES)
    yield from ((channels.SECURITY, one) for one in security.RENAMED)


def _event(channel: str, event_id: int, **data: Any) -> Event:
    record = Record(
        "windows",
        "host.example",
        5,
        channel,
        event_id,
        3,
        "Provider",
        data=data,
        level=2,
        keywords="0x80",
    )
    return event_of_record(record)


@pytest.mark.parametrize("place", sorted(set(_supported())), ids=lambda one: f"{one[0]} {one[1]}")
def test_a_field_without_a_row_is_the_member_of_its_name(place: tuple[str, int]) -> None:
    channel, event_id = place
    derived = SECURITY_FIELDS.get(event_id, {}) if channel == channels.SECURITY else {}
    names = {*ENVELOPE, *MEMBERS_ELSEWHERE, "Image", "User", "TargetUserName", "LogonId"}
    names -= {"EventID", *derived}
    names |= {"AnyOther"}
    own = {name: f"own {name}" for name in names}
    event = _event(channel, event_id, **own)
    assert {name: event.value(name) for name in names} == own
    bare = _event(channel, event_id)
    expected = ENVELOPE | {"EventID": str(event_id), "Channel": channel, "EventLog": channel}
    assert {name: bare.value(name) for name in ENVELOPE} == expected


def test_the_table_names_every_field_that_is_derived() -> None:
    assert {one: set(fields) for one, fields in security.RENAMED.items()} == {
        one: set(fields) for one, fields in SECURITY_FIELDS.items()
    }
    assert set(LOOKED_UP) == {*ENVELOPE, *MEMBERS_ELSEWHERE}


@pytest.mark.parametrize(
    ("event_id", "field", "source"),
    [
        (event_id, field, source)
        for event_id, fields in SECURITY_FIELDS.items()
        for field, source in fields.items()
    ],
)
def test_fields_of_security_events_have_their_source(
    event_id: int, field: str, source: str
) -> None:
    if source == "the event id":
        expected = {"action": ("accept", "deny"), "blocked": ("false", "true")}[field]
        assert _event(channels.SECURITY, event_id).value(field) == expected[event_id == 5157]
        return
    for members, value in ALTERNATIVES.get(source) or (MEMBERS[source],):
        assert _event(channels.SECURITY, event_id, **members).value(field) == value


@pytest.mark.parametrize(("field", "source"), DEFENDER_FIELDS.items())
def test_fields_of_defender_have_their_source(field: str, source: str) -> None:
    assert _event(channels.DEFENDER, 1116, **{source: "x"}).value(field) == "x"


def test_calls_of_rpc_firewall_have_interface_and_operation() -> None:
    uuid = "1ff70682-0a51-30e8-076d-740be8cee98b"
    values = ("NdrServerCall", "700", "svchost.exe", "tcp", "135", "10.0.0.9", uuid, "1", "CORP\\a")
    data = {f"param{n}": value for n, value in enumerate(values, 1)}
    call = _event(channels.RPC_FIREWALL, 3, **data)
    assert (call.value("InterfaceUuid"), call.value("OpNum")) == (uuid, "1")
    assert call.sources == ("windows//rpc-firewall", "windows//")
    other = _event(channels.SYSTEM, 3, **data)
    assert (other.value("InterfaceUuid"), other.value("OpNum")) == ("", "")


def test_hashes_positional_values_and_answers_have_their_source() -> None:
    hashes = "MD5=A,SHA1=B,SHA256=C,IMPHASH=D"
    found = {"md5": "A", "sha1": "B", "sha256": "C", "imphash": "D"}
    for event_id in (1, 6, 7, 15, 23, 24, 25, 26, 27, 28, 29):
        for member in ("Hashes", "Hash"):
            event = _event(channels.SYSMON, event_id, **{member: hashes})
            assert {name: event.value(name) for name in found} == found
    asked = _event(channels.SYSMON, 22, QueryName="a.example", QueryResults="type:  16 x;")
    answers = [asked.value(name) for name in ("query", "answer", "record_type")]
    assert answers == ["a.example", "type:  16 x;", "TXT"]
    crashed = _event(channels.APPLICATION, 1000, **{f"param{n}": f"v{n}" for n in range(1, 9)})
    named = [one for one, source in MEMBERS_ELSEWHERE.items() if source.startswith("param")]
    assert [crashed.value(name) for name in named if name not in ("Data", "Message")] == [
        f"v{n}" for n in range(1, 9)
    ]
    assert crashed.value("Data") == crashed.value("Message") == "v1 v2 v3 v4 v5 v6 v7 v8"
