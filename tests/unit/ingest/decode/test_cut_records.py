"""Records that were cut short anywhere: the reason names the format that the text begins as."""

import json
import re

import pytest

from vedette.ingest.decode import decode
from vedette.ingest.framing.body import split_body
from vedette.ingest.record import Record, RecordError

EVENT = (
    '<Event><System><Provider Name="Linux-Sysmon" Guid="{0}"/><EventID>1</EventID>'
    '<TimeCreated SystemTime="2026-11-01T10:00:00.123Z"/><EventRecordID>77</EventRecordID>'
    "<Channel>Linux-Sysmon/Operational</Channel><Computer>web-9</Computer></System><EventData>"
    '<Data Name="UtcTime">2026-11-01 10:00:00.123</Data><Data Name="ProcessId">4001</Data>'
    '<Data Name="Image">/usr/bin/tool</Data></EventData></Event>'
)
DATA_END = "</EventData>"
HEADER = "Nov  1 10:00:00 web-9 sysmon: "
AUDIT = 'type=SYSCALL msg=audit(1700000000.101:15): arch=c000003e syscall=59 exe="/bin/x"'
SANTA = "[2023-05-01T10:00:00.123Z] I santad: action=EXEC|pid=12|path=/bin/ls|args=ls"
JSON = '{"Event": {"System": {"EventID": 1, "Computer": "a"}, "EventData": {"Image": "x"}}}'


def outcome(text: str) -> str | list[Record]:
    """The records of a body, or the reason of its only rejection."""
    (piece,) = split_body(text.encode(), "web-9")
    try:
        return decode(piece)
    except RecordError as error:
        return error.reason


@pytest.mark.parametrize("header", ["", HEADER, f"<13>{HEADER}", "2026-11-01T10:00:00Z web-9 "])
def test_an_event_that_is_cut_short_is_bad_xml(header: str) -> None:
    first = len("<Event>")
    for length in range(first, EVENT.index(DATA_END) + len(DATA_END) - 1):
        assert outcome(header + EVENT[:length]) == "bad_xml", length
    for length in range(EVENT.index(DATA_END) + len(DATA_END), len(EVENT) + 1):
        assert isinstance(outcome(header + EVENT[:length]), list), length


@pytest.mark.parametrize("member", ["message", "SyslogMessage", "log"])
def test_an_event_in_a_member_that_is_cut_short_in_its_system_is_bad_xml(member: str) -> None:
    for length in range(len("<Event>"), EVENT.index("</System>") + 8):
        record = json.dumps({member: HEADER + EVENT[:length], "hostname": "web-9"})
        assert outcome(record) == "bad_xml", length


def test_the_message_has_the_place_where_an_event_ends() -> None:
    for text, part in ((EVENT[:90], "System"), (EVENT[:-40], "EventData")):
        with pytest.raises(RecordError, match=f"cut short in {part}, after {len(text)} bytes"):
            decode(text.encode())


def test_records_after_an_event_that_is_cut_short_are_read() -> None:
    cut = EVENT[:200]
    for other in (AUDIT, SANTA, JSON, HEADER + EVENT, EVENT, f"<13>{HEADER}{EVENT}"):
        for lines in ((cut, other), (other, cut, other), (cut, cut, other), (HEADER + cut, other)):
            pieces = split_body("\n".join(lines).encode(), "web-9")
            # Equal audit lines are one event.
            assert len(pieces) == len(lines) - (other is AUDIT and lines.count(AUDIT) == 2)
            reasons = []
            for piece in pieces:
                try:
                    decode(piece)
                except RecordError as error:
                    reasons.append(error.reason)
            cuts = sum(cut in line and other not in line for line in lines)
            assert [one for one in reasons if one != "no_time"] == ["bad_xml"] * cuts, lines


@pytest.mark.parametrize("header", ["", "node=web-9 ", HEADER])
def test_an_audit_line_that_is_cut_short_in_its_head_is_a_bad_line(header: str) -> None:
    for length in range(len("type=SYS"), AUDIT.index(":15)") + 4):
        assert outcome(header + AUDIT[:length]) == "bad_line", length
    assert isinstance(outcome(header + AUDIT), list)


def test_a_line_of_santa_that_is_cut_short_in_its_head_is_a_bad_line() -> None:
    for length in range(SANTA.index("santad") + 6, SANTA.index("action=") + 7):
        assert outcome(SANTA[:length]) in ("bad_line", "not_json"), length
    assert outcome(SANTA[: SANTA.index("action=")]) == "bad_line"
    assert isinstance(outcome(SANTA), list)


def test_json_that_is_cut_short_is_not_json_with_its_place() -> None:
    for length in range(1, len(JSON)):
        assert outcome(JSON[:length]) == "not_json", length
    with pytest.raises(RecordError, match=r"truncated|byte \d"):
        decode(JSON[:30].encode())


@pytest.mark.parametrize("text", ["plain words", "time=1 type=x", "kernel: usb 1-1: new device"])
def test_other_text_is_not_json_and_is_shown(text: str) -> None:
    with pytest.raises(RecordError, match=re.escape(text)) as refused:
        decode(text.encode())
    assert refused.value.reason == "not_json"
