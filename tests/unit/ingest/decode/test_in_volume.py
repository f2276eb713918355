"""Formats that come in volume are read in a quicker way, which reads the same."""

import json
from typing import Any

import pytest

from vedette.ingest.decode import decode, decode_object


def beats(**data: Any) -> dict[str, Any]:
    return {
        "@timestamp": "2026-01-02T03:04:05.500Z",
        "winlog": {
            "channel": "microsoft-windows-sysmon/operational",
            "computer_name": "PC1.Example.",
            "event_id": "11",
            "record_id": "77",
            "provider_name": "Microsoft-Windows-Sysmon",
            "process": {"pid": 4},
            "event_data": {"UtcTime": "2026-01-02 03:04:05.250", **data},
        },
    }


def evtx(event_id: Any = 7045) -> dict[str, Any]:
    return {
        "Event": {
            "System": {
                "Provider": {"#attributes": {"Name": "Service Control Manager"}},
                "EventID": event_id,
                "TimeCreated": {"#attributes": {"SystemTime": "2026-01-02T03:04:05Z"}},
                "EventRecordID": 12,
                "Channel": "System",
                "Computer": "PC1",
            },
            "EventData": {"ServiceName": "x", "param2": 5},
        }
    }


@pytest.mark.parametrize(
    "document",
    [
        beats(Image="C:\\a.exe"),
        beats(Nested={"a": "b"}),
        beats() | {"more": [1, {"a": None}]},
        evtx(),
        evtx({"#text": 7045, "#attributes": {"Qualifiers": 16_384}}),
    ],
    ids=["Beats", "Beats, nested data", "Beats, more members", "EVTX", "EVTX, qualified"],
)
def test_the_quick_way_reads_what_the_other_reads(document: dict[str, Any]) -> None:
    text = json.dumps(document, separators=(",", ":")).encode()
    assert decode(text) == decode_object(document, text)
