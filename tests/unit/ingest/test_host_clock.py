"""The time zone that a shipper reports for its own host."""

import json
from typing import Any

import pytest

from tests.support.sysmon import Host
from vedette.ingest.decode import decode
from vedette.ingest.host_clock import clock_of
from vedette.model.host import UTC_CLOCK

NAME = "clock.corp.example"


@pytest.mark.parametrize(
    ("zone", "minutes"),
    [
        ("+02:00", 120),
        ("-05:00", -300),
        ("+0530", 330),
        ("-9", -540),
        ("+14:00", 840),
        ("Z", 0),
        ("UTC", 0),
        ("+00:00", 0),
        (" -03:30 ", -210),
    ],
)
def test_offsets_are_read(zone: str, minutes: int) -> None:
    assert clock_of(NAME, ("clock",), (None, zone)) == UTC_CLOCK + minutes


@pytest.mark.parametrize(
    "zone", ["", "CEST", "Europe/Berlin", "+15:00", "+99:99", "2", 120, None, ["+02:00"], "+" * 99]
)
def test_what_is_no_offset_is_unknown(zone: Any) -> None:
    assert clock_of(NAME, (NAME,), (zone,)) == 0


def test_the_zone_of_a_collector_is_not_that_of_its_hosts() -> None:
    assert clock_of(NAME, ("collector.corp.example",), ("+02:00",)) == 0


def document(**more: Any) -> bytes:
    host = Host(NAME, 1_700_000_000)
    made = host.created(host.process(7, "C:\\x.exe"), host.process(4, "C:\\p.exe"))
    return json.dumps(made | more).encode()


@pytest.mark.parametrize(
    ("more", "minutes"),
    [
        ({"event": {"timezone": "-05:00"}}, -300),
        ({"event": {"timezone": 5}}, None),
        ({"event": "text"}, None),
        ({"event": {"timezone": "+02:00"}, "host": {"name": "collector"}}, None),
        ({"host": {"name": NAME, "timezone": "+03:00"}}, 180),
        ({}, None),
    ],
)
def test_a_document_of_winlogbeat_has_the_zone_of_its_host(
    more: dict[str, Any], minutes: int | None
) -> None:
    (record,) = decode(document(**more))
    assert record.host_clock == (0 if minutes is None else UTC_CLOCK + minutes)
    # Without a fixed member the slow path decodes the document.
    text = json.loads(document(**more))
    text["winlog"]["event_data"]["Extra"] = ["a", "list"]
    (slow,) = decode(json.dumps(text).encode())
    assert slow.host_clock == record.host_clock


def test_older_beats_name_it_too() -> None:
    old = {
        "@timestamp": "2026-01-05T10:00:00.000Z",
        "computer_name": NAME,
        "log_name": "Security",
        "event_id": 4624,
        "record_number": 7,
        "source_name": "Microsoft-Windows-Security-Auditing",
        "event_data": {"TargetUserName": "ann"},
        "beat": {"hostname": "clock", "timezone": "+01:00"},
    }
    (record,) = decode(json.dumps(old).encode())
    assert record.host_clock == UTC_CLOCK + 60
