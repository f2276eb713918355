"""Many sensors changed at once: counted first, refusals named, others' hosts untouched."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.sensor import PlayedSensor, enrol, secret_of
from tests.support.served import Server, hire, open_group
from tests.support.sysmon import Story
from vedette.model.principal import Role
from vedette.web.fleet.bulk_sensors_routes import SENSORS_CHANGED_MAX


@pytest.fixture(scope="module")
def group(server: Server) -> int:
    return open_group(server, "Many")[0]


@pytest.fixture(scope="module")
def sensors(server: Server, group: int) -> Iterator[list[PlayedSensor]]:
    with server.client() as client:
        yield [enrol(client, f"many-{at}.example", secret_of(server, group)) for at in range(3)]


def record(client: httpx.Client, number: int) -> dict[str, Any]:
    return dict(client.get(f"/api/v1/sensor/{number}").json())


def test_a_dry_run_counts_and_changes_nothing(
    analyst: httpx.Client, sensors: list[PlayedSensor], sent_story: Story
) -> None:
    (shipper,) = analyst.get("/api/v1/sensor", params={"hostname": sent_story.host.name}).json()
    ids = [*(one.id for one in sensors), shipper["id"], 2_000_000_000]
    body = {"ids": ids, "restart_queued": True, "dry_run": True}
    found = analyst.put("/api/v1/sensor", json=body).json()
    assert (found["sensors"], found["dry_run"], found["groups"]) == (3, True, {"Many": 3})
    assert {one["id"] for one in found["refused"]} == {shipper["id"], 2_000_000_000}
    assert not any(record(analyst, one.id)["restart_queued"] for one in sensors)


def test_a_dry_run_of_an_isolation_says_whom_it_reaches(
    analyst: httpx.Client, sensors: list[PlayedSensor], group: int
) -> None:
    exclusions = {"isolation_exclusions": [{"name": "dns", "ip_address": "10.9.8.7:53"}]}
    assert analyst.put(f"/api/v3/group/{group}", json=exclusions).is_success
    for one in sensors:
        assert one.check_in().is_success
    body = {"ids": [one.id for one in sensors], "network_isolation_enabled": True, "dry_run": True}
    found = analyst.put("/api/v1/sensor", json=body).json()
    allowed = {"Many": ["10.9.8.7:53"]}
    assert found["isolation"] == {"online": 3, "isolated": 0, "allowed": allowed}
    assert not record(analyst, sensors[0].id)["network_isolation_enabled"]
    released = body | {"network_isolation_enabled": False}
    assert "isolation" not in analyst.put("/api/v1/sensor", json=released).json()


@pytest.mark.parametrize(
    "order",
    [
        {"event_log_flush_time": "Sat, 20 Nov 2027 13:24:20 GMT"},
        {"network_isolation_enabled": True},
        {"restart_queued": True},
        {"uninstall": True},
    ],
    ids=lambda order: next(iter(order)),
)
def test_an_order_that_no_sensor_takes_is_refused_by_its_own_name(
    analyst: httpx.Client, sent_story: Story, order: dict[str, Any]
) -> None:
    path = "/api/v1/sensor"
    (shipper,) = analyst.get(path, params={"hostname": sent_story.host.name}).json()
    alone = analyst.put(f"{path}/{shipper['id']}", json=order)
    many = analyst.put(path, json={"ids": [shipper["id"]], **order})
    named = f"{next(iter(order))}: "
    assert alone.status_code == 409
    assert alone.json()["message"].startswith(named)
    assert many.json()["refused"][0]["message"].startswith(named)


def test_what_is_refused_keeps_nothing_from_the_others(
    analyst: httpx.Client, sensors: list[PlayedSensor], sent_story: Story
) -> None:
    (shipper,) = analyst.get("/api/v1/sensor", params={"hostname": sent_story.host.name}).json()
    ids = [shipper["id"], *(one.id for one in sensors)]
    body = {"ids": ids, "network_isolation_enabled": True, "isolation_reason": "a worm"}
    found = analyst.put("/api/v1/sensor", json=body).json()
    assert found["sensors"] == 3
    assert "no sensor" in found["refused"][0]["message"]
    held = [record(analyst, one.id) for one in sensors]
    assert {one["isolation_reason"] for one in held} == {"a worm"}
    body = {"ids": ids[1:], "network_isolation_enabled": False}
    assert analyst.put("/api/v1/sensor", json=body).json()["sensors"] == 3


def test_hosts_of_other_groups_do_not_exist_and_moving_needs_both_roles(
    server: Server, sensors: list[PlayedSensor], group: int
) -> None:
    other, _ = open_group(server, "Elsewhere")
    token = hire(server, "many-analyst", {group: Role.ANALYST})
    stranger = hire(server, "many-stranger", {other: Role.ANALYST})
    ids = [one.id for one in sensors]
    with server.client(**{"X-Auth-Token": stranger}) as client:
        found = client.put("/api/v1/sensor", json={"ids": ids, "notes": "mine now"}).json()
        assert found["sensors"] == 0
        assert {one["message"] for one in found["refused"]} == {
            f"sensor {number} not found" for number in ids
        }
        assert {one["hostname"] for one in found["refused"]} == {""}
    with server.client(**{"X-Auth-Token": token}) as client:
        found = client.put("/api/v1/sensor", json={"ids": ids, "group_id": other}).json()
        assert found["sensors"] == 0
        assert "Administrator" in found["refused"][0]["message"]
        assert client.put("/api/v1/sensor", json={"ids": ids, "notes": "seen"}).json()["sensors"]
    assert not sensors[0].obey()["isolate"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ids": []},
        {"ids": [1]},
        {"ids": [True], "notes": "x"},
        {"ids": "1", "notes": "x"},
        {"ids": [1], "hostname": "x"},
        {"ids": [1], "notes": "x", "dry_run": "yes"},
        {"ids": [0], "notes": "x"},
        {"ids": list(range(1, SENSORS_CHANGED_MAX + 2)), "notes": "x"},
    ],
)
def test_a_body_that_says_nothing_clear_is_refused(
    analyst: httpx.Client, body: dict[str, Any]
) -> None:
    assert analyst.put("/api/v1/sensor", json=body).status_code == 400


def test_silent_hosts_are_those_without_contact(
    analyst: httpx.Client, sensors: list[PlayedSensor]
) -> None:
    def names(**query: str) -> set[str]:
        found = analyst.get("/api/v1/sensor", params={"hostname": "many-", **query}).json()
        return {one["computer_name"] for one in found}

    assert len(names()) == len(sensors)
    assert names(silent_filter_days="1") == set()
    assert names(silent_filter_days="0") == names()
