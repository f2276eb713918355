"""Sensors through the public client `cbapi`, unmodified: lists, isolation, flush, groups, while a
played sensor checks in as well (docs/clients.md#requests)."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support.sensor import PlayedSensor, enrol, secret_of
from tests.support.served import Server
from tests.support.threads import at_work

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]

TIMEOUT_S = 30
CHECKIN_S = 0.2


@pytest.fixture(scope="module")
def played(server: Server) -> Iterator[PlayedSensor]:
    with server.client() as client:
        sensor = enrol(client, "flow-sensor.corp.example", secret_of(server))
        adapters = [{"ip": "192.0.2.77", "mac": "00:15:5d:01:9c:08"}]
        sensor.check_in(adapters=adapters, uptime_s=60, event_backlog_bytes=10)
        yield sensor


@pytest.fixture
def checking_in(played: PlayedSensor) -> Iterator[PlayedSensor]:
    """The sensor's own loop, as it runs on a host, faster."""

    def loop(ends: threading.Event) -> None:
        while not ends.wait(CHECKIN_S):
            played.obey()

    with at_work([loop]):
        yield played


def sensor(cb: Any, played: PlayedSensor) -> Any:
    from cbapi.response import Sensor

    return cb.select(Sensor, played.id)


def test_a_sensor_is_found_by_name_address_and_group(cb: Any, played: PlayedSensor) -> None:
    from cbapi.response import Sensor

    for query in ("hostname:flow-sensor", "ip:192.0.2.77", "groupid:1"):
        assert played.id in [one.id for one in cb.select(Sensor).where(query)]


def test_a_sensor_reports_what_clients_read(cb: Any, played: PlayedSensor) -> None:
    found = sensor(cb, played)
    (adapter,) = found.network_interfaces
    assert (adapter.ipaddr, adapter.macaddr) == ("192.0.2.77", "00:15:5d:01:9c:08")
    assert (found.hostname, found.dns_name) == ("flow-sensor", "flow-sensor.corp.example")
    assert found.registration_time.year >= 2026
    assert found.status == "Online"


def test_a_sensor_is_isolated_and_let_back(cb: Any, checking_in: PlayedSensor) -> None:
    found = sensor(cb, checking_in)
    assert found.isolate(TIMEOUT_S) is True
    assert found.network_isolation_enabled is True
    assert found.unisolate(TIMEOUT_S) is True
    found.refresh()
    assert (found.network_isolation_enabled, found.is_isolating) == (False, False)


def test_a_flush_clears_itself(cb: Any, played: PlayedSensor) -> None:
    found = sensor(cb, played)
    found.flush_events()
    found.refresh()
    assert found.original_document["event_log_flush_time"] is not None
    assert played.obey()["flush_before_us"] is not None
    assert played.obey()["flush_before_us"] is None
    found.refresh()
    assert found.original_document["event_log_flush_time"] is None


def test_a_restart_is_done_once(cb: Any, played: PlayedSensor) -> None:
    found = sensor(cb, played)
    found.restart_sensor()
    assert [played.obey()["restart"], played.obey()["restart"]] == [True, False]


def test_a_sensor_moves_to_another_group(cb: Any, server: Server) -> None:
    from cbapi.response import Sensor, SensorGroup

    group = cb.create(SensorGroup)
    group.name, group.site_id, group.sensorbackend_server = "Moved to", 1, server.url
    group.save()
    with server.client() as client:
        made = enrol(client, "flow-mover.corp.example", secret_of(server))
        found = sensor(cb, made)
        assert found.group.name == "Default Group"
        found.group = group
        found.save()
        again = sensor(cb, made)
        assert (again.group.id, again.group.name) == (group.id, "Moved to")
        assert [one.id for one in cb.select(Sensor).where(f"groupid:{group.id}")] == [made.id]
        assert [one.id for one in again.group.sensors] == [made.id]
        made.check_in()
        assert sensor(cb, made).group_id == group.id


def test_notes_are_kept(cb: Any, played: PlayedSensor) -> None:
    found = sensor(cb, played)
    found.notes = "looked at"
    found.save()
    assert sensor(cb, played).notes == "looked at"


@pytest.mark.parametrize("name", ["queued_stats", "activity_stats", "resource_status"])
def test_statistics_of_a_sensor_are_lists(cb: Any, played: PlayedSensor, name: str) -> None:
    (row,) = getattr(sensor(cb, played), name)
    assert row["sensor_id"] == played.id


def test_all_sensors_are_paged_through(cb: Any, server: Server, played: PlayedSensor) -> None:
    from cbapi.response import Sensor

    with server.client() as client:
        for number in range(120):
            enrol(client, f"paged-{number:03}.corp.example", secret_of(server))
    ids = [one.id for one in cb.select(Sensor)]
    assert len(ids) == len(set(ids)) == len(cb.select(Sensor)) >= 121
