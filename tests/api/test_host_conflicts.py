"""Two sensor groups that claim one host name: no record is lost, both administrators see it, and
only a global administrator decides."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
import pytest

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, hire, open_group, wait_for
from tests.support.sysmon import Host
from vedette.model.principal import Role

NUMBERS = count(1)


@dataclass
class Group:
    id: int
    sender: httpx.Client
    administrator: httpx.Client
    analyst: httpx.Client


Pair = tuple[Group, Group]


@pytest.fixture(scope="module")
def pair(server: Server) -> Iterator[tuple[Group, Group]]:
    """The group whose hosts they are, and one that claims their names."""
    with ExitStack() as opened:
        made = []
        for name in ("owners", "claimants"):
            group_id, ingest = open_group(server, f"conflict {name}")
            tokens = [
                {"Authorization": f"Bearer {ingest}"},
                {"X-Auth-Token": hire(server, f"admin-{name}", {group_id: Role.ADMINISTRATOR})},
                {"X-Auth-Token": hire(server, f"analyst-{name}", {group_id: Role.ANALYST})},
            ]
            clients = [opened.enter_context(server.client(**one)) for one in tokens]
            made.append(Group(group_id, *clients))
        yield made[0], made[1]


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as made:
        yield made


@pytest.fixture
def name() -> str:
    return f"pc-{next(NUMBERS)}.contested.example"


def send(group: Group, name: str, pid: int = 1_000) -> None:
    host = Host(name, int(time.time()) - 60, record_id=next(NUMBERS))
    parent = host.process(400, r"C:\Windows\explorer.exe")
    record = host.created(host.process(pid, r"C:\x.exe", f"x {pid}", 1), parent)
    answer = group.sender.post("/api/v1/ingest", json=[record])
    assert (answer.status_code, answer.json()["rejected"]) == (200, 0), answer.text


def command_lines(client: httpx.Client, name: str) -> set[str]:
    found = client.get("/api/v1/process", params={"q": f"hostname:{name}", "rows": "50"}).json()
    return {row["cmdline"] for row in found["results"] if row["cmdline"].startswith("x ")}


def stored(group: Group, name: str, *wanted: str) -> set[str]:
    """Command lines that a group's analyst sees, once their scope has new sensors."""
    return set(wait_for(lambda: command_lines(group.analyst, name), set(wanted)))


def listed(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/hostconflict")
    assert answer.status_code == 200, answer.text
    return [one for one in answer.json()["results"] if one["hostname"] == name]


def sensor_of(client: httpx.Client, name: str) -> int:
    """Waits until the client's scope has the new sensor."""
    found: list[int] = []

    def is_listed() -> bool:
        rows = client.get("/api/v1/sensor", params={"hostname": name}).json()
        found[:] = [int(one["id"]) for one in rows]
        return bool(found)

    assert wait_for(is_listed, True)
    (only,) = found
    return only


def test_a_claim_on_a_name_costs_its_owner_neither_records_nor_enrolment(
    server: Server, client: httpx.Client, pair: Pair, name: str
) -> None:
    owner, claimant = pair
    short = name.partition(".")[0]
    send(claimant, name, 6_666)
    send(claimant, short, 6_667)
    send(owner, short, 1_001)
    send(owner, name)
    assert enrol(client, name, secret_of(server, owner.id)).check_in().status_code == 200
    assert enrol(client, short, secret_of(server, claimant.id)).check_in().status_code == 200
    assert stored(owner, name, "x 1000") == {"x 1000"}
    assert stored(claimant, name, "x 6666", "x 6667") == {"x 6666", "x 6667"}


def test_both_groups_administrators_see_the_conflict_and_of_each_other_nothing_else(
    analyst: httpx.Client, pair: Pair, name: str
) -> None:
    owner, claimant = pair
    send(owner, name)
    assert listed(owner.administrator, name) == []
    send(claimant, name)
    for group, other in ((owner, claimant), (claimant, owner)):
        (found,) = listed(group.administrator, name)
        assert found["claimed_by_others"] is True
        (claim,) = found["claims"]
        assert (claim["group_id"], claim["enrolled"], claim["decided"]) == (group.id, False, False)
        assert sensor_of(other.administrator, name) != claim["sensor_id"]
        assert len({"conflict owners", "conflict claimants"} & set(claim.values())) == 1
        assert group.analyst.get("/api/v1/hostconflict").status_code == 403
        page = f"/ui/sensors/{claim['sensor_id']}"
        shown = "another sensor group also reports this host name"
        assert shown in group.administrator.get(page).text
        assert shown not in group.analyst.get(page).text
    (found,) = listed(analyst, name)
    assert found["claimed_by_others"] is False
    assert {claim["group_id"] for claim in found["claims"]} == {owner.id, claimant.id}
    findings = analyst.get("/api/v1/doctor").json()["findings"]
    (finding,) = [one for one in findings if one["check"] == "names"]
    assert "warning" in finding.values()


def test_a_groups_administrator_does_not_decide_about_a_name(pair: Pair, name: str) -> None:
    owner, claimant = pair
    for group in pair:
        send(group, name)
    body = {"owner": sensor_of(claimant.administrator, name)}
    for who in (claimant.administrator, owner.administrator, claimant.analyst, claimant.sender):
        assert who.put(f"/api/v1/hostconflict/{name}", json=body).status_code in (401, 403)
        assert who.delete(f"/api/v1/hostconflict/{name}").status_code in (401, 403)
    assert len(listed(owner.administrator, name)) == 1


def test_a_decision_makes_the_claims_one_host_until_it_is_withdrawn(
    analyst: httpx.Client, pair: Pair, name: str
) -> None:
    owner, claimant = pair
    send(owner, name)
    send(claimant, name, 2_000)
    address = f"/api/v1/hostconflict/{name}"
    answer = analyst.put(address, json={"owner": sensor_of(owner.administrator, name)})
    assert answer.status_code == 200, answer.text
    assert {claim["decided"] for claim in answer.json()["claims"]} == {True}
    assert listed(owner.administrator, name) == listed(claimant.administrator, name) == []
    send(claimant, name, 3_000)
    assert stored(owner, name, "x 1000", "x 3000") == {"x 1000", "x 3000"}
    assert stored(claimant, name, "x 2000") == {"x 2000"}
    audited = analyst.get("/api/v1/audit", params={"kind": "host name"}).json()["results"]
    assert {one["target"] for one in audited} >= {f"{name}/{owner.id}", f"{name}/{claimant.id}"}

    assert analyst.delete(address).status_code == 200
    assert analyst.delete(address).status_code == 404
    send(claimant, name, 4_000)
    assert stored(claimant, name, "x 2000", "x 4000") == {"x 2000", "x 4000"}
    assert len(listed(claimant.administrator, name)) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [({}, 400), ({"owner": "x"}, 400), ({"owner": 0}, 400), ({"owner": 1, "by": 2}, 400)],
)
def test_a_decision_that_cannot_be_is_refused(
    analyst: httpx.Client,
    pair: Pair,
    name: str,
    body: dict[str, object],
    status: int,
) -> None:
    for group in pair:
        send(group, name)
    assert analyst.put(f"/api/v1/hostconflict/{name}", json=body).status_code == status
    assert analyst.put("/api/v1/hostconflict/nobody", json={"owner": None}).status_code == 404


def test_a_host_that_is_moved_keeps_its_records_and_its_old_groups_sender_loses_none(
    server: Server,
    analyst: httpx.Client,
    client: httpx.Client,
    pair: Pair,
    name: str,
) -> None:
    owner, claimant = pair
    sensor = enrol(client, name, secret_of(server, owner.id))
    send(owner, name)
    moved = analyst.put(f"/api/v1/sensor/{sensor.id}", json={"group_id": claimant.id})
    assert moved.status_code == 204
    assert sensor.check_in().status_code == 200

    def is_apart() -> bool:
        send(owner, name, 5_000)
        return command_lines(owner.analyst, name) == {"x 5000"}

    assert wait_for(is_apart, True)
    assert "x 1000" in command_lines(claimant.analyst, name)
    assert len(listed(owner.administrator, name)) == 1
    back = analyst.put(f"/api/v1/sensor/{sensor.id}", json={"group_id": owner.id})
    assert back.status_code == 409
