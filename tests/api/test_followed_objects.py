"""The versions of objects that open pages follow, over HTTPS: they change with what pages show, say
whether it is settled, and are of objects that the caller sees."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.sensor import PlayedSensor, enrol, secret_of
from tests.support.served import Server, hire, open_group
from vedette.model.principal import Role
from vedette.web.server.pulse_versions import FOLLOWED_OBJECTS_MAX


@pytest.fixture(scope="module")
def open_client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def followed(client: httpx.Client, *names: str) -> dict[str, Any]:
    answer = client.get("/api/v1/pulse", params={"of": ",".join(names)})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["followed"])


def order(client: httpx.Client, sensor: PlayedSensor, **members: Any) -> None:
    assert client.put(f"/api/v1/sensor/{sensor.id}", json=members).status_code == 204


def test_a_host_is_unsettled_from_an_order_until_its_sensor_has_followed_it(
    server: Server, analyst: httpx.Client, open_client: httpx.Client
) -> None:
    sensor = enrol(open_client, "followed.example", secret_of(server))
    sensor.obey()
    name = f"sensor:{sensor.id}"
    seen = [followed(analyst, name)[name]]
    assert seen[0]["settled"]
    for isolate in (True, False):
        order(analyst, sensor, network_isolation_enabled=isolate)
        seen.append(followed(analyst, name)[name])
        assert not seen[-1]["settled"]
        sensor.obey()
        sensor.obey()
        seen.append(followed(analyst, name)[name])
        assert seen[-1]["settled"]
    assert len({one["version"] for one in seen}) == 4
    assert seen[-1] == seen[0]
    for members in ({"restart_queued": True}, {"event_log_flush_time": "2027-11-20T00:00:00Z"}):
        order(analyst, sensor, **members)
        assert not followed(analyst, name)[name]["settled"]
        order(analyst, sensor, restart_queued=False, event_log_flush_time="1970-01-01T00:00:00Z")
        assert followed(analyst, name)[name]["settled"]


def test_a_check_in_that_changes_nothing_changes_no_version(
    server: Server, analyst: httpx.Client, open_client: httpx.Client
) -> None:
    sensor = enrol(open_client, "still.example", secret_of(server))
    name = f"sensor:{sensor.id}"
    sensor.obey()
    first = followed(analyst, name)
    sensor.obey()
    assert followed(analyst, name) == first


def test_nobody_follows_what_they_do_not_see(
    server: Server, analyst: httpx.Client, open_client: httpx.Client
) -> None:
    here, _ = open_group(server, "followed here")
    there, _ = open_group(server, "followed there")
    sensor = enrol(open_client, "hidden-followed.example", secret_of(server, there))
    made = analyst.post(
        "/api/v1/watchlist",
        json={"name": "followed", "search_query": "q=x", "index_type": "events", "group_id": there},
    ).json()
    names = (f"sensor:{sensor.id}", f"watchlist:{made['id']}", "messages:all", "sensor:99999999")
    token = hire(server, "follower", {here: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as client:
        assert followed(client, *names) == dict.fromkeys(names)
    seen = followed(analyst, *names)
    assert [name for name, state in seen.items() if state is None] == ["sensor:99999999"]


def test_objects_to_follow_are_bounded_and_checked(analyst: httpx.Client) -> None:
    many = ",".join(f"sensor:{number}" for number in range(FOLLOWED_OBJECTS_MAX + 1))
    for names in (many, "sensor", "sensor:", "host:1", "<b>:1"):
        answer = analyst.get("/api/v1/pulse", params={"of": names})
        assert answer.status_code == 400, names
        assert answer.json()["message"].startswith("of:")
    odd = ("sensor:x", "sensor:-1", "job:'", "alert:\x00", "file:%", "filter:../..", "rule:'")
    assert followed(analyst, *odd) == dict.fromkeys(odd)
    assert followed(analyst) == {}
