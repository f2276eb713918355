"""Level and keywords of event-log records, by every wrapper that carries them."""

import json
from typing import Any

import pytest

from vedette.ingest.decode import decode

_AT = "2024-01-02T03:04:05.900Z"
_FAILURE = "0x8010000000000000"
_BEATS: dict[str, Any] = {
    "channel": "Security",
    "computer_name": "ws1",
    "event_id": "4673",
    "event_data": {"ProcessId": "0x10"},
    "keywords": ["Audit Failure"],
}
_SYSTEM: dict[str, Any] = {
    "Provider": {"#attributes": {"Name": "x"}},
    "EventID": 4673,
    "TimeCreated": {"#attributes": {"SystemTime": _AT}},
    "EventRecordID": 7,
    "Channel": "Security",
    "Computer": "ws1",
    "Level": 4,
    "Keywords": _FAILURE,
}
_XML = (
    f"<Event><System><Provider Name='x'/><EventID>4673</EventID><TimeCreated SystemTime='{_AT}'/>"
    f"<Channel>Security</Channel><Computer>ws1</Computer><Level>4</Level><Keywords>{_FAILURE}"
    "</Keywords></System><EventData><Data Name='a'>b</Data></EventData></Event>"
)
_NXLOG: dict[str, Any] = {
    "EventTime": "2024-01-02 03:04:05",
    "SourceModuleType": "im_msvistalog",
    "EventReceivedTime": "2024-01-02 03:04:06",
    "Hostname": "ws1",
    "Channel": "Security",
    "EventID": 4673,
    "SourceName": "x",
    "Keywords": -9218868437227405312,
    "SeverityValue": 2,
}
SENT: dict[str, bytes] = {
    "winlogbeat 8": json.dumps(
        {"@timestamp": _AT, "log": {"level": "information"}, "winlog": _BEATS}
    ).encode(),
    "winlogbeat 8, other types": json.dumps(
        {"@timestamp": _AT, "log": {"level": "information"}, "winlog": _BEATS | {"task": [1]}}
    ).encode(),
    "evtx": json.dumps({"Event": {"System": _SYSTEM, "EventData": {"a": "b"}}}).encode(),
    "evtx, unnamed data": json.dumps(
        {"Event": {"System": _SYSTEM, "EventData": {"Data": ["b"]}}}
    ).encode(),
    "xml": _XML.encode(),
    "nxlog": json.dumps(_NXLOG | {"RecordNumber": 7, "ExecutionProcessID": 4}).encode(),
    "nxlog, other types": json.dumps(_NXLOG).encode(),
    "get-winevent": json.dumps(
        {
            "TimeCreated": _AT,
            "Hostname": "ws1",
            "Channel": "Security",
            "EventID": 4673,
            "Level": 4,
            "Keywords": _FAILURE,
        }
    ).encode(),
}


@pytest.mark.parametrize("name", SENT)
def test_level_and_keywords_reach_the_record(name: str) -> None:
    (record,) = decode(SENT[name])
    assert (record.level, record.keywords) == (4, _FAILURE)


@pytest.mark.parametrize("value", [[], {}, [[["x"]]], True, None, "no number", "9" * 400])
def test_values_of_any_shape_are_harmless(value: Any) -> None:
    sent = _NXLOG | {"Keywords": value, "SeverityValue": value}
    (record,) = decode(json.dumps(sent).encode())
    assert 0 <= record.level < 6
    (record,) = decode(json.dumps({"Event": {"System": _SYSTEM | {"Level": value}}}).encode())
    assert 0 <= record.level < 256


def test_version_fields_that_winlogbeat_7_moved_come_back() -> None:
    sent = {
        "@timestamp": _AT,
        "winlog": {
            "channel": "Microsoft-Windows-Sysmon/Operational",
            "computer_name": "ws1",
            "event_id": 1,
            "event_data": {"IntegrityLevel": "High"},
        },
        "process": {
            "executable": "C:\\a.exe",
            "pe": {"company": "c", "description": "d", "product": "p", "imphash": "0f"},
        },
    }
    (record,) = decode(json.dumps(sent).encode())
    found = {name: record.data.get(name) for name in ("Company", "Description", "Product")}
    assert found == {"Company": "c", "Description": "d", "Product": "p"}
    assert record.data["Hashes"] == "IMPHASH=0F"
