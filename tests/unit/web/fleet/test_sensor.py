"""The sensor object (docs/api-objects.md#sensor) in the types of recorded answers
(docs/clients.md#sensor-records)."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from vedette import limits
from vedette.state.sensors.sensor_list import DAY_US
from vedette.state.sensors.sensor_row import SensorRow
from vedette.web.fleet.models import sensor_body

SHARED = Path(os.environ.get("VEDETTE_SHARED", Path(__file__).parents[5] / "shared"))
RECORDED = SHARED / "data" / "recorded" / "02_GET_api_v1_sensor_1"
NOW_US = 1_700_000_000_123_456


def _row(**changes: Any) -> SensorRow:
    values: dict[str, Any] = {
        "id": 7,
        "hostname": "dc1.corp",
        "computer_name": "DC1",
        "group_id": 2,
        "group_name": "Servers",
        "os_type": "windows",
        "interface_ip": "10.0.0.1",
        "first_seen_us": NOW_US - DAY_US,
        "last_seen_us": NOW_US,
        "network_isolation_enabled": False,
        "is_isolating": False,
        "restart_queued": False,
        "uninstall": False,
        "notes": None,
    }
    return SensorRow(**values | changes)


@pytest.mark.skipif(not RECORDED.exists(), reason="no recorded answers on this machine")
def test_every_field_of_a_recorded_sensor_is_there_in_its_type() -> None:
    recorded = json.loads(RECORDED.read_text())
    body = sensor_body(_row(), NOW_US)
    assert body.pop("sensor_health_status") is None, "this host reported no health"
    assert type(recorded.pop("sensor_health_status")) is int
    for name, value in recorded.items():
        assert type(body[name]) is type(value), name


def test_what_is_known_is_shown() -> None:
    body = sensor_body(_row(), NOW_US)
    assert (body["id"], body["group_id"], body["os_type"]) == (7, 2, 1)
    assert (body["computer_name"], body["computer_dns_name"]) == ("DC1", "dc1.corp")
    assert body["os_environment_display_string"] == "Windows"
    assert body["network_adapters"] == "10.0.0.1,000000000000|"


def test_times_carry_microseconds_and_a_zone() -> None:
    text = sensor_body(_row(), NOW_US)["last_checkin_time"]
    assert text[10] == " "
    assert datetime.fromisoformat(text).timestamp() == NOW_US / 1_000_000


@pytest.mark.parametrize(
    ("silent_us", "status"),
    [(0, "Online"), (limits.SENSOR_ONLINE_US - 1, "Online"), (limits.SENSOR_ONLINE_US, "Offline")],
)
def test_the_status_follows_the_last_time_it_was_seen(silent_us: int, status: str) -> None:
    assert sensor_body(_row(last_seen_us=NOW_US - silent_us), NOW_US)["status"] == status


def test_an_unknown_system_and_address_are_empty() -> None:
    body = sensor_body(_row(os_type="", interface_ip=""), NOW_US)
    assert (body["os_type"], body["os_environment_display_string"]) == (0, "")
    assert body["network_adapters"] == ""


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "Online"),
        ({"checkin_us": NOW_US - 149_000_000}, "Online"),
        ({"checkin_us": NOW_US - 151_000_000}, "Offline"),
        ({"uninstall": True}, "Uninstall Pending"),
        ({"uninstall": True, "uninstalled_us": 1}, "Uninstalled"),
    ],
)
def test_the_status_of_an_enrolled_sensor_follows_its_check_ins(
    changes: dict[str, int], status: str
) -> None:
    checkin_us = changes.get("checkin_us", NOW_US)
    values = {"enrolled_us": 1, "checkin_us": checkin_us} | changes
    row = _row(**values, next_checkin_us=checkin_us + 30_000_000)
    assert sensor_body(row, NOW_US)["status"] == status


def test_what_a_sensor_reported_is_numeric_text() -> None:
    body = sensor_body(_row(uptime_s=5, volume_free_bytes=2**62, boot_id="6f1d-x"), NOW_US)
    assert (body["uptime"], body["systemvolume_free_size"]) == ("5", str(2**62))
    assert body["boot_id"].isdecimal()
