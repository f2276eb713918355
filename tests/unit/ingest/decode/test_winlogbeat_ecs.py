"""Winlogbeat 7 moved event data to ECS: each moved value comes back under Sysmon's name."""

import json
from typing import Any

import pytest

from vedette.ingest.decode import decode

_GUID = "{7d1f0a2b-9e21-6543-1000-000000000400}"
_PROCESS = {
    "entity_id": _GUID,
    "pid": 4312,
    "executable": "C:\\a.exe",
    "command_line": "a.exe -x",
    "working_directory": "C:\\",
    "hash": {"md5": "0" * 31 + "1", "sha256": "0" * 63 + "2"},
    "pe": {"original_file_name": "A.EXE", "imphash": "0" * 31 + "3"},
    "parent": {"entity_id": _GUID, "pid": 99, "executable": "C:\\p.exe", "command_line": "p"},
}


def _data(event_id: int, document: dict[str, Any], left: dict[str, str] | None = None) -> Any:
    winlog = {
        "channel": "Microsoft-Windows-Sysmon/Operational",
        "event_id": event_id,
        "computer_name": "A",
        "record_id": 1,
        "event_data": left or {},
    }
    whole = {"@timestamp": "2024-01-02T03:04:05.678Z", "winlog": winlog} | document
    (record,) = decode(json.dumps(whole).encode())
    return record.data


@pytest.mark.parametrize(
    ("event_id", "document", "expected"),
    [
        (
            1,
            {"process": _PROCESS, "user": {"domain": "CORP", "name": "ann"}},
            {
                "UtcTime": "2024-01-02 03:04:05.678",
                "ProcessGuid": _GUID,
                "ProcessId": 4312,
                "Image": "C:\\a.exe",
                "CommandLine": "a.exe -x",
                "CurrentDirectory": "C:\\",
                "OriginalFileName": "A.EXE",
                "User": "CORP\\ann",
                "ParentProcessGuid": _GUID,
                "ParentProcessId": 99,
                "ParentImage": "C:\\p.exe",
                "ParentCommandLine": "p",
                "Hashes": f"MD5={'0' * 31}1,SHA256={'0' * 63}2,IMPHASH={'0' * 31}3",
            },
        ),
        (
            3,
            {
                "process": {"entity_id": _GUID},
                "network": {"transport": "tcp", "direction": "egress"},
                "source": {"ip": "10.0.0.1", "port": 50000, "domain": "a"},
                "destination": {"ip": "10.0.0.2", "port": 443, "domain": "b"},
            },
            {
                "Protocol": "tcp",
                "Initiated": "true",
                "SourceIp": "10.0.0.1",
                "SourcePort": 50000,
                "SourceHostname": "a",
                "DestinationIp": "10.0.0.2",
                "DestinationPort": 443,
                "DestinationHostname": "b",
            },
        ),
        (
            7,
            {"process": {"entity_id": _GUID}, "file": {"path": "C:\\b.dll", "hash": {"sha1": "x"}}},
            {"ImageLoaded": "C:\\b.dll", "Hashes": "SHA1=X"},
        ),
        (8, {"process": _PROCESS}, {"SourceProcessGuid": _GUID, "SourceImage": "C:\\a.exe"}),
        (10, {"process": _PROCESS}, {"SourceProcessGUID": _GUID, "SourceProcessId": 4312}),
        (11, {"process": _PROCESS, "file": {"path": "C:\\x"}}, {"TargetFilename": "C:\\x"}),
        (13, {"process": _PROCESS, "registry": {"path": "HKLM\\x"}}, {"TargetObject": "HKLM\\x"}),
        (15, {"process": _PROCESS, "file": {"hash": {"md5": "y"}}}, {"Hash": "MD5=Y"}),
        (17, {"process": _PROCESS, "file": {"name": "\\pipe1"}}, {"PipeName": "\\pipe1"}),
        (
            22,
            {
                "process": _PROCESS,
                "dns": {
                    "question": {"name": "x.example"},
                    "answers": [{"type": "A", "data": "10.1.2.3"}],
                },
            },
            {"QueryName": "x.example", "QueryResults": "::ffff:10.1.2.3;"},
        ),
    ],
)
def test_moved_event_data_come_back(
    event_id: int, document: dict[str, Any], expected: dict[str, Any]
) -> None:
    data = _data(event_id, document)
    assert {name: data.get(name) for name in expected} == expected


def test_what_stayed_in_the_event_data_is_not_replaced() -> None:
    data = _data(13, {"process": _PROCESS, "registry": {"path": "no"}}, {"TargetObject": "HKLM\\x"})
    assert data["TargetObject"] == "HKLM\\x"


def test_a_moved_security_start_comes_back() -> None:
    winlog = {"channel": "Security", "event_id": 4688, "computer_name": "A", "event_data": {}}
    document = {"@timestamp": "2024-01-02T03:04:05Z", "winlog": winlog, "process": _PROCESS}
    (record,) = decode(json.dumps(document).encode())
    assert (record.data["NewProcessId"], record.data["ProcessId"]) == ("0x10d8", "0x63")


def test_fields_of_a_wrong_type_do_not_cost_the_record() -> None:
    data = _data(1, {"process": ["x"], "user": "ann", "dns": 5, "file": None})
    assert data == {"UtcTime": "2024-01-02 03:04:05.678"}
