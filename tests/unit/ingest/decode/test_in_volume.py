"""Formats that come in volume: whole blocks of lines become what each line would become."""

import json
from typing import Any

import pytest

from vedette.ingest.decode import decode, decode_event, decode_events
from vedette.limits import RECORD_BYTES_MAX


def beats(second: int, **data: Any) -> dict[str, Any]:
    return {
        "@timestamp": f"2026-01-02T03:04:{second:02}.500Z",
        "winlog": {
            "channel": "microsoft-windows-sysmon/operational",
            "computer_name": "PC1.Example.",
            "event_id": "11",
            "record_id": str(second),
            "provider_name": "Microsoft-Windows-Sysmon",
            "process": {"pid": 4},
            "event_data": {"UtcTime": f"2026-01-02 03:04:{second:02}.250", **data},
        },
    }


def evtx(second: int, event_id: Any = 7045) -> dict[str, Any]:
    return {
        "Event": {
            "System": {
                "Provider": {"#attributes": {"Name": "Service Control Manager"}},
                "EventID": event_id,
                "TimeCreated": {"#attributes": {"SystemTime": f"2026-01-02T03:04:{second:02}Z"}},
                "EventRecordID": second,
                "Channel": "System",
                "Computer": "PC1",
            },
            "EventData": {"ServiceName": "x", "param2": 5},
        }
    }


def lines_of(*objects: Any) -> bytes:
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in objects)


@pytest.mark.parametrize(
    "block",
    [
        lines_of(beats(1), beats(2, Image="C:\\a.exe"), beats(3)),
        b"\n" + lines_of(beats(1)) + b"\r\n\n" + lines_of(beats(2)).rstrip(),
        lines_of(evtx(1), evtx(2, {"#text": 7045, "#attributes": {"Qualifiers": 16_384}})),
    ],
    ids=["Beats", "Beats, empty lines between", "EVTX, qualified"],
)
def test_lines_of_one_format_are_decoded_together(block: bytes) -> None:
    lines = [line for line in block.splitlines() if line]
    found = decode_events(block.lstrip())
    assert found == [record for line in lines for record in decode(line)]
    assert found == [decode_event(line) for line in lines]


@pytest.mark.parametrize(
    "other",
    [
        lines_of(evtx(4)),
        lines_of({"what": "else"}),
        lines_of(beats(4, Nested={"a": "b"})),
        lines_of(beats(4) | {"@timestamp": "yesterday"}),
        lines_of({"@timestamp": "2026-01-02T03:04:05Z", "winlog": {}}),
        b'{"@timestamp":"2026-01-02T03:04:05Z","winlog":\n',
        b'{"@timestamp":"\xff"}\n',
        b'{"@timestamp":' + b"[" * 100_000 + b"\n",
    ],
    ids=["EVTX", "unknown", "nested", "no time", "empty", "cut", "no text", "deep"],
)
def test_lines_with_anything_else_among_them_are_left_to_be_read_one_by_one(other: bytes) -> None:
    assert decode_events(lines_of(beats(1)) + other + lines_of(beats(2))) is None


def test_a_block_that_could_hold_too_large_a_record_is_left() -> None:
    assert decode_events(lines_of(*[beats(1)] * (RECORD_BYTES_MAX // 200))) is None
