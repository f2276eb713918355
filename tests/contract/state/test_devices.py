"""Devices as searches and update jobs select them: every criterion and each of its values."""

from typing import Any

import pytest
from sqlalchemy import insert

from tests.contract.conftest import on_sqlite
from vedette.errors import BadRequestError
from vedette.model.scope import EVERYTHING
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.devices import device_list
from vedette.state.devices.device_list import PRIORITIES, STATUSES, Device
from vedette.state.sensors import sensor_list
from vedette.state.sensors.sensor_packages import Package, register
from vedette.web.fleet.devices_json import device_body, device_filter

NOW_US = 1_700_000_000_000_000
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


def add(database: Database, name: str, **values: Any) -> None:
    """A sensor with a program of its own that has just checked in, unless it says otherwise."""
    usual = {
        "hostname": name,
        "computer_name": name,
        "group_id": 1,
        "os_type": "linux",
        "os_version": "Ubuntu 24.04",
        "sensor_version": "2.0.0.0",
        "key_sha256": bytes(32),
        "enrolled_us": NOW_US - DAY_US,
        "checkin_us": NOW_US - 1_000_000,
        "next_checkin_us": NOW_US + 30_000_000,
        "last_seen_us": NOW_US - 1_000_000,
        "health_status": 100,
        "network_isolation_enabled": False,
        "is_isolating": False,
        "restart_queued": False,
        "uninstall": False,
    }
    with database.writing() as connection:
        connection.execute(insert(SENSOR).values(usual | values))


def found(database: Database, **body: Any) -> list[Device]:
    wanted = device_filter(body, NOW_US)
    return device_list.search(database, EVERYTHING, wanted, (("name", False),), NOW_US)


def names(database: Database, **body: Any) -> set[str]:
    return {one.sensor.hostname for one in found(database, **body)}


@pytest.fixture
def fleet(database: Database) -> Database:
    register(database, Package("linux", "2.0.0.0", "a" * 64, 1))
    add(database, "good")
    add(
        database,
        "silent",
        checkin_us=NOW_US - 40 * DAY_US,
        next_checkin_us=NOW_US - 40 * DAY_US,
        last_seen_us=NOW_US - 40 * DAY_US,
    )
    add(database, "isolated", is_isolating=True)
    add(database, "gone", uninstalled_us=NOW_US - 1)
    add(database, "old", sensor_version="1.0.0.0")
    add(database, "ill", health_status=50, health_message="driver missing")
    add(database, "bare", key_sha256=None, enrolled_us=0, checkin_us=0)
    return database


STATUS_NAMES = {
    "PENDING": {"bare"},
    "REGISTERED": {"good", "silent", "isolated", "old", "ill"},
    "UNINSTALLED": {"gone"},
    "DEREGISTERED": {"gone"},
    "DELETED": {"gone"},
    "ACTIVE": {"good", "isolated", "old", "ill", "bare"},
    "INACTIVE": {"silent"},
    "ERROR": {"ill"},
    "ALL": {"good", "silent", "isolated", "gone", "old", "ill", "bare"},
    "BYPASS_ON": set(),
    "BYPASS": set(),
    "QUARANTINE": {"isolated"},
    "SENSOR_OUTOFDATE": {"old"},
    "LIVE": {"good", "isolated", "old", "ill", "bare"},
}


def test_every_status_selects_its_devices(fleet: Database) -> None:
    assert set(STATUS_NAMES) == STATUSES
    for status, expected in STATUS_NAMES.items():
        assert names(fleet, criteria={"status": [status]}) == expected, status
    both = names(fleet, criteria={"status": ["QUARANTINE", "ERROR"]})
    assert both == {"isolated", "ill"}
    assert names(fleet, exclusions={"status": ["REGISTERED"]}) == {"gone", "bare"}


@pytest.mark.parametrize(
    ("span", "expected"),
    [("3h", 1), ("1d", 2), ("1w", 3), ("2w", 4), ("1m", 5)],
)
def test_the_last_contact_is_within_a_range(database: Database, span: str, expected: int) -> None:
    for hours in (2, 23, 6 * 24, 13 * 24, 29 * 24, 40 * 24):
        contact_us = NOW_US - hours * HOUR_US
        add(database, f"h{hours}", checkin_us=contact_us, last_seen_us=contact_us)
    assert len(found(database, criteria={"last_contact_time": {"range": span}})) == expected


def test_priorities_come_from_the_criticality_of_the_group(database: Database) -> None:
    for number, criticality in enumerate((1, 2, 3, 4, 5), start=2):
        with database.writing() as connection:
            options = f'{{"alert_criticality": {criticality}}}'
            row = {"id": number, "name": f"g{number}", "site_id": 1, "options": options}
            connection.execute(insert(GROUP).values(row))
        add(database, f"c{criticality}", group_id=number)
    expected = {"LOW": {"c1", "c2"}, "MEDIUM": {"c3"}, "HIGH": {"c4"}, "MISSION_CRITICAL": {"c5"}}
    assert tuple(expected) == PRIORITIES
    for priority, hosts in expected.items():
        assert names(database, criteria={"target_priority": [priority]}) == hosts
    assert names(database, criteria={"policy_id": [4, 6]}) == {"c3", "c5"}
    assert names(database, criteria={"policy_id": [4], "target_priority": ["LOW"]}) == set()


def test_ids_directory_groups_and_plain_text_select(fleet: Database) -> None:
    (good,) = found(fleet, query="GOO")
    assert names(fleet, criteria={"id": [good.sensor.id]}) == {"good"}
    assert names(fleet, criteria={"id": [str(good.sensor.id), 99_999]}) == {"good"}
    assert len(found(fleet, criteria={"ad_group_id": [0]})) == 7
    assert found(fleet, criteria={"ad_group_id": [5]}) == []
    assert found(fleet, query="no such thing") == []


@pytest.mark.parametrize(
    ("os_type", "os_version", "kit"),
    [
        ("windows", "Windows XP SP3", "XP"),
        ("windows", "Windows 11", "WINDOWS"),
        ("osx", "macOS 15", "MAC"),
        ("linux", "Red Hat Enterprise Linux 9", "RHEL"),
        ("linux", "Rocky Linux 9", "RHEL"),
        ("linux", "Debian GNU/Linux 12", "UBUNTU"),
        ("linux", "openSUSE Leap 15", "SUSE"),
        ("linux", "Amazon Linux 2023", "AMAZON_LINUX"),
        ("linux", "Gentoo", "OTHER"),
    ],
)
def test_each_system_has_its_kit_type(
    database: Database, os_type: str, os_version: str, kit: str
) -> None:
    add(database, "one", os_type=os_type, os_version=os_version)
    assert [one.kit_type for one in found(database)] == [kit]
    assert names(database, criteria={"sensor_kit_type": [kit]}) == {"one"}


@pytest.mark.parametrize(
    "body",
    [
        {"criteria": []},
        {"criteria": {"colour": ["red"]}},
        {"criteria": {"status": ["HAPPY"]}},
        {"criteria": {"target_priority": ["URGENT"]}},
        {"criteria": {"status": [True]}},
        {"criteria": {"status": []}},
        {"criteria": {"last_contact_time": {"range": "soon"}}},
        {"criteria": {"last_contact_time": ["3h"]}},
        {"exclusions": {"status": [{"a": 1}]}},
        {"query": 5},
        {"query": "x" * 1_001},
    ],
    ids=str,
)
def test_what_no_device_can_be_selected_by_is_refused(
    database: Database, body: dict[str, Any]
) -> None:
    with pytest.raises(BadRequestError):
        found(database, **body)


def test_the_record_says_what_the_sensor_reports(database: Database) -> None:
    add(
        database,
        "host-1.example",
        kernel="6.1.0-18-amd64",
        interface_ip="10.0.0.9",
        network_adapters="10.0.0.9,00155d019c08|",
    )
    (one,) = found(database)
    record = device_body(one, "ORG")
    expected = {
        "name": "host-1.example",
        "os": "LINUX",
        "os_version": "Ubuntu 24.04",
        "linux_kernel_version": "6.1.0-18-amd64",
        "last_internal_ip_address": "10.0.0.9",
        "mac_address": "00155d019c08",
        "status": "REGISTERED",
        "sensor_states": ["ACTIVE", "LIVE", "REGISTERED"],
        "registered_time": "2023-11-13T22:13:20.000Z",
        "organization_name": "ORG",
    }
    assert {name: record[name] for name in expected} == expected


@on_sqlite
def test_sensors_of_one_group_are_not_compared_with_each_other(database: Database) -> None:
    """A list of 10,000 took a minute while SQLite looked at all sensors of the group for each;
    PostgreSQL has statistics to plan by."""
    made = sensor_list.QUERY.compile(database.engine, compile_kwargs={"literal_binds": True})
    with database.reading() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {made}")
        steps = [row[3] for row in plan if "other" in row[3]]
    assert len(steps) == 1
    assert "ix_sensor_computer_name" in steps[0]
