"""No route shows hosts of other groups to a user (docs/telemetry-model.md, Scope)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.served import Server, hire, open_group, state_of, wait_for
from tests.support.sysmon import Story, story
from vedette.model.principal import Role
from vedette.state.accounts import teams


@dataclass(frozen=True)
class Divided:
    """Two groups with a host each, and a user who sees the first one only."""

    mine: Story
    theirs: Story
    client: httpx.Client


@pytest.fixture(scope="module")
def divided(server: Server) -> Iterator[Divided]:
    group_id, secret = open_group(server, "mine")
    _, other_secret = open_group(server, "theirs")
    mine, theirs = story("mine.corp.example"), story("theirs.corp.example")
    for tale, token in ((mine, secret), (theirs, other_secret)):
        with server.client(Authorization=f"Bearer {token}") as client:
            assert client.post("/api/v1/ingest", json=tale.records).status_code == 200
    token = hire(server, "divided", {group_id: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as client:
        # Which sensors a group has is believed for a second.
        assert wait_for(lambda: len(client.get("/api/v1/sensor").json()), 1) == 1
        yield Divided(mine, theirs, client)


def found(client: httpx.Client, query: str) -> dict[str, Any]:
    body: dict[str, Any] = client.get("/api/v1/process", params={"q": query}).json()
    return body


def test_a_search_finds_the_hosts_of_ones_groups(divided: Divided) -> None:
    hosts = {one["hostname"] for one in found(divided.client, "")["results"]}
    assert hosts == {divided.mine.host.name}


def test_filtered_reveals_nothing_of_hidden_hosts(divided: Divided, analyst: httpx.Client) -> None:
    query = "process_name:whoami.exe (hostname:mine.corp.example OR hostname:theirs.corp.example)"
    body = found(divided.client, query)
    assert (body["total_results"], body["filtered"]) == (1, 0)
    grouped = {"q": query, "svc.group": "hostname", "rows": 0}
    assert divided.client.get("/api/v1/process", params=grouped).json()["filtered"] == 0
    body = found(analyst, query)
    assert (body["total_results"], body["filtered"]) == (2, 0)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/process/{}/0",
        "/api/v1/process/{}/1",
        "/api/v2/process/{}/0",
        "/api/v1/process/{}/segment",
        "/api/v4/process/{}/0/event",
        "/api/v1/process/{}/0/preview",
        "/api/v1/process/{}/0/threat_intel_hits",
        "/api/v1/process/{}/tree",
        "/api/v1/process/{}/timeline",
    ],
)
def test_a_process_of_another_group_does_not_exist(
    divided: Divided, analyst: httpx.Client, path: str
) -> None:
    query = f"process_name:powershell.exe hostname:{divided.theirs.host.name}"
    (hidden,) = found(analyst, query)["results"]
    assert analyst.get(path.format(hidden["id"])).status_code == 200
    assert divided.client.get(path.format(hidden["id"])).status_code == 404


def test_sensors_of_other_groups_are_not_listed(divided: Divided) -> None:
    (only,) = divided.client.get("/api/v1/sensor").json()
    assert only["computer_dns_name"] == divided.mine.host.name
    assert divided.client.get("/api/v2/sensor").json()["total_results"] == 1
    assert divided.client.get("/api/v1/sensor/statistics").json()["sensor_count"] == 1


def test_a_sensor_of_another_group_does_not_exist(divided: Divided, analyst: httpx.Client) -> None:
    name = divided.theirs.host.name
    found_hosts = analyst.get("/api/v1/sensor", params={"hostname": name}).json()
    (hidden,) = [one for one in found_hosts if one["computer_dns_name"] == name]
    assert divided.client.get(f"/api/v1/sensor/{hidden['id']}").status_code == 404


def binaries(client: httpx.Client, query: str) -> dict[str, Any]:
    body: dict[str, Any] = client.get("/api/v1/binary", params={"q": query}).json()
    return body


def test_a_binary_is_what_ones_own_hosts_saw_of_it(divided: Divided, analyst: httpx.Client) -> None:
    query = f"md5:{'ab' * 16}"
    (mine,) = binaries(divided.client, query)["results"]
    assert [one.partition("|")[0] for one in mine["endpoint"]] == [divided.mine.host.name]
    assert mine["host_count"] == 1
    (whole,) = binaries(analyst, query)["results"]
    assert whole["host_count"] >= 2
    body = binaries(divided.client, f"hostname:{divided.theirs.host.name}")
    assert body["total_results"] == 0
    assert body["filtered"] == 0


def test_a_binary_that_only_others_have_does_not_exist(
    divided: Divided, server: Server, analyst: httpx.Client
) -> None:
    host = divided.theirs.host
    parent = host.process(900, "C:\\Windows\\explorer.exe")
    rare = host.process(0xABCDE, "C:\\x\\rare.exe", after_s=60)
    # An administrator may send for every group; an ingest token for a host of its own.
    assert analyst.post("/api/v1/ingest", json=[host.created(rare, parent)]).status_code == 200
    with server.sender() as client:
        answer = client.post("/api/v1/ingest", json=[host.created(rare, parent)])
        assert (answer.status_code, answer.json()["rejected"]) == (200, 0)
    for path in (f"/api/v1/binary/{rare.md5}/summary", f"/api/v1/binary/{rare.md5}"):
        assert divided.client.get(path).status_code == 404
    assert analyst.get(f"/api/v1/binary/{rare.md5}/summary").status_code == 200
    asked = {"name": "md5", "md5": rare.md5}
    counted = divided.client.get("/api/v1/process/host/count", params=asked).json()
    assert (counted["hostCount"], counted["globalCount"], counted["numDocs"]) == (0, 0, 4)
    query = "observed_filename:rare.exe OR observed_filename_child:rare.exe"
    assert found(divided.client, query)["total_results"] == 0


def test_a_disabled_team_takes_effect_within_a_second(server: Server) -> None:
    token = hire(server, "of-a-disabled-team", {1: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as caller, state_of(server) as database:
        assert caller.get("/api/v1/banning/bannedlist").status_code == 200
        team = teams.named(database, "team of of-a-disabled-team")
        teams.change(database, team.id, is_enabled=False)
        ask = lambda: caller.get("/api/v1/banning/bannedlist").status_code  # noqa: E731
        assert wait_for(ask, 403, 3) == 403
        assert caller.get("/api/v1/sensor").json() == []
        assert caller.get("/api/v1/process").json()["total_results"] == 0
        teams.change(database, team.id, is_enabled=True)
        assert wait_for(ask, 200, 3) == 200
