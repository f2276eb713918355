"""The same records in the wrappers of docs/telemetry-windows.md: what
every one of them must give."""

import json
from typing import Any

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.record import Record

_SYSMON = "Microsoft-Windows-Sysmon/Operational"
_GUID = "7d1f0a2b-9e21-6543-1000-000000000400"
_DATA = {
    "UtcTime": "2024-01-02 03:04:05.678",
    "ProcessGuid": f"{{{_GUID}}}",
    "ProcessId": "4312",
    "Image": "C:\\Windows\\System32\\cmd.exe",
    "TargetFilename": "C:\\Temp\\a.txt",
}
_XML_DATA = "".join(f'<Data Name="{name}">{value}</Data>' for name, value in _DATA.items())
_XML = (
    "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System>"
    "<Provider Name='Microsoft-Windows-Sysmon'/><EventID>11</EventID>"
    "<TimeCreated SystemTime='2024-01-02T03:04:05.900000000Z'/>"
    "<EventRecordID>77</EventRecordID><Execution ProcessID='2468' ThreadID='1'/>"
    f"<Channel>{_SYSMON}</Channel><Computer>WS1.Corp.Example</Computer></System>"
    f"<EventData>{_XML_DATA}</EventData></Event>"
)
_NXLOG = _DATA | {
    "EventTime": "2024-01-02 04:04:05",
    "EventReceivedTime": "2024-01-02 04:04:07",
    "@timestamp": "2024-01-02T03:04:08.100Z",
    "Hostname": "WS1.Corp.Example",
    "host": "collector.corp.example",
    "EventID": 11,
    "SourceName": "Microsoft-Windows-Sysmon",
    "RecordNumber": 77,
    "ExecutionProcessID": 2468,
    "Channel": _SYSMON,
    "SourceModuleType": "im_msvistalog",
}
_WINLOG = {
    "channel": _SYSMON,
    "provider_name": "Microsoft-Windows-Sysmon",
    "event_id": "11",
    "record_id": 77,
    "computer_name": "WS1.Corp.Example",
    "process": {"pid": 2468, "thread": {"id": 1}},
    "event_data": _DATA,
}
_EVTX_SYSTEM = {
    "Provider": {"#attributes": {"Name": "Microsoft-Windows-Sysmon"}},
    "EventID": 11,
    "TimeCreated": {"#attributes": {"SystemTime": "2024-01-02T03:04:05.900000Z"}},
    "EventRecordID": 77,
    "Execution": {"#attributes": {"ProcessID": 2468, "ThreadID": 1}},
    "Channel": _SYSMON,
    "Computer": "WS1.Corp.Example",
}

_WRAPPED: dict[str, Any] = {
    "nxlog": _NXLOG,
    "get-winevent": {
        **_DATA,
        "TimeCreated": "2024-01-02T03:04:05.900Z",
        "Hostname": "WS1.Corp.Example",
        "EventID": "11",
        "Channel": _SYSMON.lower(),
        "SourceName": "Microsoft-Windows-Sysmon",
    },
    "winlogbeat 6": {
        "@timestamp": "2024-01-02T03:04:05.900Z",
        "host": {"name": "collector"},
        "log_name": _SYSMON,
        "event_id": 11,
        "record_number": "77",
        "computer_name": "WS1.Corp.Example",
        "process_id": 2468,
        "source_name": "Microsoft-Windows-Sysmon",
        "event_data": _DATA,
    },
    "winlogbeat 8": {
        "@timestamp": "2024-01-02T03:04:05.900Z",
        "host": {"name": "collector"},
        "winlog": _WINLOG,
    },
    "winlogbeat 8 through logstash": {
        "host": {"name": "collector"},
        "winlog": _WINLOG | {"record_id": "77", "event_data": _DATA | {"Extra": 5}},
        "@timestamp": "2024-01-02T03:04:05.900Z",
    },
    "azure event": {
        "TimeGenerated": "2024-01-02T03:04:05.900Z",
        "Computer": "WS1.Corp.Example",
        "EventLog": _SYSMON,
        "EventID": 11,
        "Source": "Microsoft-Windows-Sysmon",
        "EventData": f'<DataItem type="x"><EventData>{_XML_DATA}</EventData></DataItem>',
    },
    "evtx": {
        "Event": {
            "System": _EVTX_SYSTEM,
            "EventData": _DATA | {"ProcessGuid": _GUID.upper(), "ProcessId": 4312},
        }
    },
    "evtx with qualifiers": {
        "Event": {
            "System": _EVTX_SYSTEM | {"EventID": {"#text": 11, "#attributes": {"Qualifiers": 0}}},
            "EventData": _DATA,
        }
    },
    "xml in syslog": {
        "SyslogMessage": f"Jan  2 03:04:05 ws1 sysmon: {_XML}",
        "Computer": "collector",
        "TimeGenerated": "2024-01-02T03:05:00Z",
    },
    "xml in fluent bit": {"System": _XML, "date": 1.5},
    "xml in message": {"message": _XML, "host": {"name": "collector"}},
    "splunk export": {"result": {"_raw": _XML, "host": "collector"}},
}


def _decoded(wrapped: Any) -> Record:
    (record,) = decode(json.dumps(wrapped).encode())
    return record


@pytest.mark.parametrize("wrapper", _WRAPPED)
def test_every_wrapper_gives_the_host_the_channel_and_the_id(wrapper: str) -> None:
    record = _decoded(_WRAPPED[wrapper])
    assert (record.host, record.channel, record.event_id) == ("ws1.corp.example", _SYSMON, 11)


@pytest.mark.parametrize("wrapper", _WRAPPED)
def test_every_wrapper_gives_the_event_data_by_name(wrapper: str) -> None:
    data = _decoded(_WRAPPED[wrapper]).data
    assert data["ProcessGuid"].strip("{}").lower() == _GUID
    assert {data["UtcTime"], data["TargetFilename"]} == {_DATA["UtcTime"], _DATA["TargetFilename"]}


@pytest.mark.parametrize("wrapper", _WRAPPED)
def test_every_wrapper_gives_the_time_of_the_event_and_not_of_the_collector(wrapper: str) -> None:
    assert _decoded(_WRAPPED[wrapper]).time_us // 1_000_000 == 1_704_164_645


@pytest.mark.parametrize("wrapper", sorted(set(_WRAPPED) - {"get-winevent", "azure event"}))
def test_wrappers_with_a_record_number_and_a_logger_pid_give_them(wrapper: str) -> None:
    record = _decoded(_WRAPPED[wrapper])
    assert (record.record_id, record.pid) == (77, 2468)


def test_raw_xml_is_a_record_of_its_own() -> None:
    (record,) = decode(b"  " + _XML.encode())
    assert (record.host, record.record_id) == ("ws1.corp.example", 77)


def test_the_zone_of_nxlog_is_what_its_own_times_and_the_next_hop_differ_by() -> None:
    late = _NXLOG | {
        "EventReceivedTime": "2024-01-02 09:04:05",
        "@timestamp": "2024-01-02T08:04:06Z",
    }
    assert _decoded(late).time_us == 1_704_164_645_000_000


def test_the_logger_of_older_nxlog_is_no_event_data() -> None:
    older = {key: value for key, value in _NXLOG.items() if key != "ExecutionProcessID"}
    record = _decoded(older | {"ProcessID": 2804})
    assert record.pid == 2804
    assert "ProcessID" not in record.data


def test_a_channel_has_one_spelling() -> None:
    assert _decoded(_NXLOG | {"Channel": "security"}).channel == "Security"
    assert _decoded(_NXLOG | {"Channel": "Custom/Log"}).channel == "Custom/Log"


def test_a_record_without_a_channel_has_that_of_its_provider() -> None:
    assert _decoded(_NXLOG | {"Channel": ""}).channel == _SYSMON


def test_positional_values_of_fluent_bit_are_numbered() -> None:
    record = _decoded(
        {
            "EventID": 7045,
            "Channel": "System",
            "Computer": "A",
            "TimeCreated": "2024-01-02 03:04:05 +0900",
            "StringInserts": ["name", "path"],
        }
    )
    assert (record.data["param1"], record.data["param2"]) == ("name", "path")
    assert record.time_us == 1_704_132_245_000_000


def test_columns_of_the_azure_security_table_are_event_data() -> None:
    record = _decoded(
        {
            "TimeGenerated": "2024-01-02T03:04:05Z",
            "Computer": "A",
            "Channel": "Security",
            "EventID": 4688,
            "NewProcessId": "0x10",
        }
    )
    assert (record.event_id, record.data["NewProcessId"]) == (4688, "0x10")


def test_user_data_and_unnamed_values_become_named() -> None:
    system = _EVTX_SYSTEM | {"Channel": "Security", "EventID": 1102}
    cleared = {"LogFileCleared": {"#attributes": {"x": 1}, "SubjectUserName": "ann"}}
    assert _decoded({"Event": {"System": system, "UserData": cleared}}).data == {
        "SubjectUserName": "ann"
    }
    unnamed = {"Data": {"#text": ["one", "two"]}}
    assert _decoded({"Event": {"System": system, "EventData": unnamed}}).data == {
        "param1": "one",
        "param2": "two",
    }


def test_no_event_data_at_all_is_an_empty_record() -> None:
    assert _decoded({"Event": {"System": _EVTX_SYSTEM, "EventData": None}}).data == {}
