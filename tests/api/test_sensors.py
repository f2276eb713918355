"""Sensors over HTTP (docs/api-sensors.md#changing-a-sensor; docs/clients.md#aliases)."""

from typing import Any

import httpx
import pytest

from tests.support.served import Server, hire, open_group, state_of, wait_for
from tests.support.sysmon import Story, story
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.sensors.hosts import aliases


def named(client: httpx.Client, name: str) -> dict[str, Any]:
    (found,) = client.get("/api/v1/sensor", params={"hostname": name}).json()
    return dict(found)


def test_a_host_that_reported_is_a_sensor(analyst: httpx.Client, sent_story: Story) -> None:
    body = named(analyst, sent_story.host.name)
    assert (body["computer_name"], body["status"]) == ("API-HOST", "Online")
    assert analyst.get(f"/api/v1/sensor/{body['id']}").json() == body


def test_pages_have_the_total(analyst: httpx.Client, sent_story: Story) -> None:
    body = analyst.get("/api/v2/sensor", params={"rows": 0, "start": 0}).json()
    assert body["results"] == []
    assert body["total_results"] == len(analyst.get("/api/v1/sensor").json()) > 0


def test_pages_can_be_sorted(analyst: httpx.Client, sent_story: Story) -> None:
    asked = {"sort.col": "computer_name", "sort.dir": "desc", "rows": 1000}
    page = analyst.get("/api/v2/sensor", params=asked).json()
    names = [one["computer_name"] for one in page["results"]]
    assert names == sorted(names, reverse=True)


@pytest.mark.parametrize("name", ["-1", "999999", "x"])
def test_an_unknown_sensor_is_404(analyst: httpx.Client, name: str) -> None:
    assert analyst.get(f"/api/v1/sensor/{name}").status_code == 404


@pytest.mark.parametrize(
    "parameters", [{"groupid": "x"}, {"sort.col": "x"}, {"inactive_filter_days": "-1"}]
)
def test_filters_must_be_understood(analyst: httpx.Client, parameters: dict[str, str]) -> None:
    answer = analyst.get("/api/v1/sensor", params=parameters)
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_request")


def test_statistics_count_sensors(analyst: httpx.Client, sent_story: Story) -> None:
    body = analyst.get("/api/v1/sensor/statistics").json()
    assert body["sensor_count"] >= body["active_sensor_count"] >= 1
    assert body["num_storefile_bytes"] == body["num_storefiles_bytes"] >= 0


def test_an_alias_is_given_and_taken_back(analyst: httpx.Client, sent_story: Story) -> None:
    host = named(analyst, sent_story.host.name)["computer_dns_name"]
    body = {"alias": "Further-Name.example", "hostname": host}
    assert analyst.post("/api/v1/hostalias", json=body).status_code == 200
    assert analyst.post("/api/v1/hostalias", json=body).status_code == 409
    listed = analyst.get("/api/v1/hostalias").json()
    assert host in [one["hostname"] for one in listed if one["alias"] == "further-name.example"]
    assert analyst.delete("/api/v1/hostalias/further-name.example").status_code == 200
    assert analyst.delete("/api/v1/hostalias/further-name.example").status_code == 404
    assert analyst.post("/api/v1/hostalias", json={"alias": 1}).status_code == 400


def test_an_alias_that_a_command_removes_is_forgotten_within_seconds(
    server: Server, analyst: httpx.Client, sender: httpx.Client
) -> None:
    """The server and the ingest workers apply the change within one time window."""
    tale, other = story("aliased.corp.example"), story("was-an-alias.corp.example")

    def seen() -> int:
        """Which sensor a new record of the alias goes to."""
        sender.post("/api/v1/ingest", json=other.records).raise_for_status()
        hosts = analyst.get("/api/v1/sensor", params={"hostname": other.host.name}).json()
        return len(hosts)

    sender.post("/api/v1/ingest", json=tale.records).raise_for_status()
    with state_of(server) as database:
        aliases.add(database, other.host.name, tale.host.name)
        assert seen() == 0
        aliases.remove(database, other.host.name, SystemClock().now_us())
    assert wait_for(seen, 1, 15) == 1


def test_a_query_selects_sensors_and_says_where_it_cannot_be_read(
    server: Server, analyst: httpx.Client
) -> None:
    def found(client: httpx.Client, q: str) -> set[str]:
        answer = client.get("/api/v2/sensor", params={"q": q})
        assert answer.status_code == 200, answer.text
        return {one["computer_dns_name"] for one in answer.json()["results"]}

    with server.sender() as sender:
        for name in ("terms-1.example", "terms-2.example"):
            assert sender.post("/api/v1/ingest", json=story(name).records).is_success
    assert found(analyst, "terms") == {"terms-1.example", "terms-2.example"}
    assert found(analyst, "hostname:TERMS-2 os_type:windows") == {"terms-2.example"}
    assert found(analyst, "terms -hostname:terms-1") == {"terms-2.example"}
    refused = analyst.get("/api/v2/sensor", params={"q": "terms colour:red"})
    assert refused.status_code == 400
    assert refused.json()["reason"] == "query_malformed_syntax"
    group, _ = open_group(server, "sees no terms")
    token = hire(server, "terms-viewer", {group: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        assert found(viewer, "terms OR last_seen:*") == set()
