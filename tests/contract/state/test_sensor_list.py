"""The list of sensors, on both databases (docs/api-sensors.md#changing-a-sensor)."""

from typing import Any

import pytest

from vedette.errors import BadRequestError, NotFoundError, QueryError
from vedette.model.host import Sighting
from vedette.model.scope import EVERYTHING, Scope
from vedette.state.db.database import Database
from vedette.state.policy import groups
from vedette.state.sensors import sensor_list
from vedette.state.sensors.host_registry import Sensors
from vedette.state.sensors.sensor_list import DAY_US, SensorQuery
from vedette.state.sensors.sensor_selection import (
    SENSOR_QUERY_TERMS_MAX,
    SENSOR_QUERY_WILDCARDS_MAX,
)

NOW_US = 1_700_000_000_000_000

HOSTS = (
    ("dc1.corp", "windows", "10.0.0.1", 0),
    ("web-1.corp", "linux", "10.0.0.2", 1),
    ("web-2.corp", "linux", "10.0.1.2", 2),
    ("mac_3.corp", "osx", "", 40),
)
"""Host, system, address, days since it was seen; ids are 1 to 4."""


@pytest.fixture
def fleet(database: Database) -> Database:
    sensors = Sensors(database)
    servers = groups.add(database, "Servers")
    for name, os_type, address, days in HOSTS:
        group_id = servers.id if name.startswith("web") else groups.DEFAULT_GROUP_ID
        first_us = NOW_US - 100 * DAY_US
        ref = sensors.resolve({name: Sighting(os_type)}, group_id, first_us)[name]
        sensors.note(ref.id, NOW_US - days * DAY_US, interface_ip=address)
    sensors.flush(NOW_US)
    return database


def _names(database: Database, scope: Scope = EVERYTHING, **query: Any) -> list[str]:
    page = sensor_list.page(database, scope, SensorQuery(**query), NOW_US)
    return [sensor.hostname.partition(".")[0] for sensor in page.sensors]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["dc1", "web-1", "web-2", "mac_3"]),
        ({"hostname": "web"}, ["web-1", "web-2"]),
        ({"hostname": "DC1"}, ["dc1"]),
        ({"hostname": "WEB"}, []),
        ({"hostname": "%"}, []),
        ({"hostname": "c_3"}, ["mac_3"]),
        ({"hostname": "eb_1"}, []),
        ({"ip": "10.0.0"}, ["dc1", "web-1"]),
        ({"ip": "10.0.0.2", "hostname": "dc1"}, ["web-1"]),
        ({"group_id": 2}, ["web-1", "web-2"]),
        ({"group_id": 404}, []),
        ({"group_id": 10**30}, []),
        ({"inactive_days": 2}, ["dc1", "web-1"]),
        ({"inactive_days": 10**30}, ["dc1", "web-1", "web-2", "mac_3"]),
        ({"sort": "computer_name", "is_descending": False}, ["DC1", "mac_3", "web-1", "web-2"]),
        ({"sort": "id", "is_descending": True}, ["mac_3", "web-2", "web-1", "dc1"]),
        ({"sort": "os_type", "is_descending": False}, ["web-1", "web-2", "mac_3", "dc1"]),
        ({"sort": "id", "is_descending": False, "start": 1, "rows": 2}, ["web-1", "web-2"]),
        ({"start": 4, "rows": 2}, []),
        ({"start": 10**30}, []),
        ({"rows": 0}, []),
    ],
    ids=str,
)
def test_filters_sorts_and_pages(fleet: Database, query: dict[str, Any], names: list[str]) -> None:
    assert _names(fleet, **query) == [name.lower() for name in names]


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ("", ["dc1", "web-1", "web-2", "mac_3"]),
        ("web", ["web-1", "web-2"]),
        ("WEB", ["web-1", "web-2"]),
        ("10.0.0", ["dc1", "web-1"]),
        ("hostname:web-1", ["web-1"]),
        ("hostname:web", []),
        ("host:web*.corp", ["web-1", "web-2"]),
        ("hostname:dc?", ["dc1"]),
        ("hostname:mac_3", ["mac_3"]),
        ("hostname:web_1", []),
        ("hostname:%", []),
        ("group:servers -ip:10.0.1", ["web-1"]),
        ('group:"Default Group"', ["dc1", "mac_3"]),
        ("os_type:linux OR os_type:osx", ["web-1", "web-2", "mac_3"]),
        ("NOT (os:linux OR os:osx)", ["dc1"]),
        ("ip:*", ["dc1", "web-1", "web-2"]),
        ("-ip:*", ["mac_3"]),
        ("group_id:2 id:[3 TO *]", ["web-2"]),
        ("last_seen:[* TO -30d]", ["mac_3"]),
        ("last_seen:-36h", ["dc1", "web-1"]),
        ("isolated:true", []),
        ("isolated:false notes:*", []),
    ],
)
def test_a_query_selects_sensors(fleet: Database, terms: str, names: list[str]) -> None:
    assert _names(fleet, terms=terms) == names
    seen = Scope(frozenset({2}))
    assert _names(fleet, seen, terms=terms) == [one for one in names if one == "web-1"]


@pytest.mark.parametrize(
    ("terms", "start"),
    [
        ("process_name:x", 0),
        ("web AND", 4),
        ("web group_id:x", 4),
        ("hostname:[a TO b]", 0),
        ("last_seen:soon", 0),
        ("isolated:perhaps", 0),
        (" ".join(["a"] * SENSOR_QUERY_TERMS_MAX) + " b", 200),
        ("*".join("x" * (SENSOR_QUERY_WILDCARDS_MAX + 2)), 0),
    ],
    ids=range(8),
)
def test_a_query_that_cannot_be_read_says_where(fleet: Database, terms: str, start: int) -> None:
    with pytest.raises(QueryError) as failed:
        _names(fleet, terms=terms)
    assert failed.value.start == start


def test_a_query_may_have_as_many_terms_and_wildcards_as_the_limits(fleet: Database) -> None:
    terms = " OR ".join(["web"] * SENSOR_QUERY_TERMS_MAX)
    assert _names(fleet, terms=terms) == ["web-1", "web-2"]
    wild = "*".join("web-1"[: SENSOR_QUERY_WILDCARDS_MAX + 1])
    assert _names(fleet, terms=f"hostname:{wild}") == ["web-1"]


@pytest.mark.parametrize("sort", ["os_type", "computer_name", "notes", "id"])
@pytest.mark.parametrize("is_descending", [True, False])
def test_pages_of_any_size_make_the_whole(fleet: Database, sort: str, is_descending: bool) -> None:
    whole = _names(fleet, sort=sort, is_descending=is_descending)
    for rows in (1, 2, 3):
        pages = [
            _names(fleet, sort=sort, is_descending=is_descending, start=start, rows=rows)
            for start in range(0, len(whole), rows)
        ]
        assert [name for page in pages for name in page] == whole


def test_the_total_counts_all_pages(fleet: Database) -> None:
    for rows in (0, 1, None):
        page = sensor_list.page(fleet, EVERYTHING, SensorQuery(hostname="w", rows=rows), NOW_US)
        assert page.total == 2


def test_only_sensors_in_scope_are_listed_counted_and_found(fleet: Database) -> None:
    scope = Scope(frozenset({2, 4}))
    page = sensor_list.page(fleet, scope, SensorQuery(), NOW_US)
    assert (page.total, [sensor.id for sensor in page.sensors]) == (2, [2, 4])
    assert sensor_list.get(fleet, scope, 2).group_name == "Servers"
    for sensor_id in (1, 404, 0, -1, 10**30):
        with pytest.raises(NotFoundError):
            sensor_list.get(fleet, scope, sensor_id)
    assert _names(fleet, Scope(frozenset())) == []


def test_a_scope_of_many_sensors_is_no_limit(fleet: Database) -> None:
    assert len(_names(fleet, Scope(frozenset(range(1, 100_000))))) == 4


@pytest.mark.parametrize(
    "bad", [{"sort": "password_hash"}, {"sort": "id; --"}, {"start": -1}, {"rows": -1}], ids=str
)
def test_a_query_that_makes_no_sense_is_refused(fleet: Database, bad: dict[str, Any]) -> None:
    with pytest.raises(BadRequestError):
        _names(fleet, **bad)
