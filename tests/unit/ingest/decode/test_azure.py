"""Rows of Azure Log Analytics as the portal, the API and Event Hubs export them."""

import json
from typing import Any

import pytest

from tests.unit.ingest.normalise.events import outcomes
from vedette.ingest.decode import decode
from vedette.ingest.record import Record, RecordError
from vedette.model.event import Facts

_SYSMON = "Microsoft-Windows-Sysmon/Operational"
_START = {
    "UtcTime": "2024-01-02 03:04:05.678",
    "ProcessGuid": "{d68bf9c4-2f5e-5f67-0c01-000000000a00}",
    "ProcessId": "4312",
    "Image": "C:\\Windows\\cmd.exe",
    "CommandLine": 'cmd.exe /c echo "<a>"',
}
_XML = "".join(
    f'<Data Name="{name}">{value.replace("<", "&lt;")}</Data>' for name, value in _START.items()
)
_ROW = {
    "TenantId": "t",
    "SourceSystem": "OpsManager",
    "TimeGenerated": "2024-01-02T03:04:05.9Z",
    "Computer": "WS1.corp.example",
    "EventID": 1,
    "Message": "",
}
_WINDOWS_EVENT = _ROW | {
    "Type": "WindowsEvent",
    "Channel": _SYSMON,
    "Provider": "Microsoft-Windows-Sysmon",
    "EventLevelName": "Information",
    "EventRecordId": "77",
    "SystemProcessId": 2468,
}
_EVENT = _ROW | {"Type": "Event", "EventLog": _SYSMON, "Source": "Microsoft-Windows-Sysmon"}
_SECURITY = _ROW | {
    "Type": "SecurityEvent",
    "EventID": 4688,
    "Channel": "Security",
    "EventSourceName": "Microsoft-Windows-Security-Auditing",
    "Activity": "4688 - A new process has been created.",
}
_NAMED = [{"@Name": name, "#text": value} for name, value in _START.items()]

SYSMON_ROWS: dict[str, dict[str, Any]] = {
    "Event, XML": _EVENT
    | {"EventData": f'<DataItem t="x"><EventData>{_XML}</EventData></DataItem>'},
    "Event, bare XML": _EVENT | {"EventData": f"<EventData>{_XML}</EventData>"},
    "Event with Channel, XML": _EVENT | {"Channel": _SYSMON, "EventData": _XML},
    "Event, JSON": _EVENT | {"EventData": json.dumps(_START)},
    "WindowsEvent, JSON text": _WINDOWS_EVENT | {"EventData": json.dumps(_START)},
    "WindowsEvent, object": _WINDOWS_EVENT | {"EventData": _START},
    "WindowsEvent, XML": _WINDOWS_EVENT | {"EventData": f"<EventData>{_XML}</EventData>"},
    "WindowsEvent, named list": _WINDOWS_EVENT | {"EventData": json.dumps({"Data": _NAMED})},
    "WindowsEvent, nested": _WINDOWS_EVENT | {"EventData": {"EventData": {"Data": _NAMED}}},
    "WindowsEvent, raw": _WINDOWS_EVENT
    | {"EventData": "", "RawEventData": f"<EventData>{_XML}</EventData>"},
    "WindowsEvent without its table's name": {
        name: value
        for name, value in (_WINDOWS_EVENT | {"EventData": json.dumps(_START)}).items()
        if name not in {"Type", "TenantId"}
    },
    "SecurityEvent, XML": _SECURITY
    | {"EventID": 1, "Channel": _SYSMON, "EventData": f"<EventData>{_XML}</EventData>"},
}


def _decoded(row: dict[str, Any]) -> Record:
    (record,) = decode(json.dumps(row).encode())
    return record


@pytest.mark.parametrize("shape", SYSMON_ROWS)
def test_a_sysmon_event_of_every_table_and_shape_is_a_process(shape: str) -> None:
    record = _decoded(SYSMON_ROWS[shape])
    assert (record.host, record.channel, record.event_id) == ("ws1.corp.example", _SYSMON, 1)
    assert {name: record.data[name] for name in _START} == _START
    paths = [one.values.get("path") for one in outcomes(record) if isinstance(one, Facts)]
    assert _START["Image"] in paths


@pytest.mark.parametrize(
    "columns",
    [
        {"NewProcessId": "0x10", "NewProcessName": "C:\\a.exe", "ProcessId": "0x20"},
        {
            "NewProcessId": "",
            "EventData": '<EventData><Data Name="NewProcessId">0x10</Data>'
            '<Data Name="NewProcessName">C:\\a.exe</Data></EventData>',
        },
        {"EventData": '{"NewProcessId": "0x10", "NewProcessName": "C:\\\\a.exe"}'},
    ],
    ids=["columns", "XML", "JSON"],
)
def test_a_security_event_is_read_from_columns_and_from_event_data(columns: dict[str, Any]) -> None:
    record = _decoded(_SECURITY | columns)
    assert (record.channel, record.data["NewProcessId"]) == ("Security", "0x10")
    paths = [one.values.get("path") for one in outcomes(record) if isinstance(one, Facts)]
    assert "C:\\a.exe" in paths


def test_user_data_and_unnamed_parameters_are_event_data() -> None:
    cleared = "<LogFileCleared><SubjectUserName>ann</SubjectUserName></LogFileCleared>"
    row = _SECURITY | {"EventID": 1102, "EventData": f"<UserData>{cleared}</UserData>"}
    assert _decoded(row).data["SubjectUserName"] == "ann"
    row = _EVENT | {"EventLog": "System", "ParameterXml": "<Param>a</Param><Param>b</Param>"}
    assert _decoded(row).data == {"param1": "a", "param2": "b"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_WINDOWS_EVENT, "unknown_format"),
        (_WINDOWS_EVENT | {"Payload": _START}, "unknown_format"),
        (_WINDOWS_EVENT | {"EventData": 7}, "unknown_format"),
        (_WINDOWS_EVENT | {"EventData": "text"}, "not_json"),
        (_WINDOWS_EVENT | {"EventData": "<EventData><Data"}, "bad_xml"),
        (_WINDOWS_EVENT | {"Channel": "", "Provider": ""}, "unknown_format"),
        (_ROW | {"EventID": 1}, "unknown_format"),
        ({"EventID": 1, "Computer": "a", "Time": "2024-01-02T03:04:05Z"}, "unknown_format"),
        (
            {
                "EventID": 1,
                "Hostname": "a",
                "Channel": _SYSMON,
                "@timestamp": "2024-01-02T00:00:00Z",
            },
            "unknown_format",
        ),
    ],
)
def test_a_row_of_an_unknown_shape_is_refused_with_its_members(
    row: dict[str, Any], reason: str
) -> None:
    with pytest.raises(RecordError) as refused:
        decode(json.dumps(row | {f"Member{n}": 1 for n in range(500)}).encode())
    assert refused.value.reason == reason
    if reason == "unknown_format":
        assert "Channel" in refused.value.message or "Computer" in refused.value.message
    assert len(refused.value.message) < 300
