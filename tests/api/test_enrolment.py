"""Rights that an enrollment secret grants; none over existing sensors."""

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest

from tests.support.sensor import PlayedSensor, enrol, enrolment_body, secret_of
from tests.support.served import Server, hire, open_group, state_of
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.sensors import enrolment, key_replacement
from vedette.state.sensors.key_replacement import KEY_REPLACEMENTS_MAX, REENROLMENT_APPROVAL_US

NUMBERS = count(1)


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as made:
        yield made


@pytest.fixture(scope="module")
def secret(server: Server) -> str:
    return secret_of(server)


@pytest.fixture
def victim(client: httpx.Client, secret: str) -> PlayedSensor:
    return enrol(client, f"settled-{next(NUMBERS)}.enrol.example", secret)


def attempt(client: httpx.Client, name: str, secret: str, **members: Any) -> httpx.Response:
    host = members.pop("host", {})
    return client.post("/sensor/v1/enrol", json=enrolment_body(name, secret, **host) | members)


def refused(answer: httpx.Response) -> str:
    assert answer.status_code == 409, answer.text
    return str(answer.json()["reason"])


def state(analyst: httpx.Client, sensor: PlayedSensor) -> str:
    record = analyst.get(f"/api/v1/sensor/{sensor.id}").json()
    (listed,) = analyst.get("/api/v1/sensor", params={"hostname": sensor.hostname}).json()
    assert listed["reenrolment"] == record["reenrolment"]
    return str(record["reenrolment"])


def enrolment_of(analyst: httpx.Client, sensor: PlayedSensor) -> dict[str, Any]:
    return dict(analyst.get(f"/api/v1/sensor/{sensor.id}/enrolment").json())


def decide(client: httpx.Client, sensor: PlayedSensor, approve: Any) -> httpx.Response:
    return client.post(f"/api/v1/sensor/{sensor.id}/enrolment", json={"approve": approve})


def test_the_secret_alone_takes_no_sensor_over(
    client: httpx.Client, analyst: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    wrong = [{}, {"previous_key": "x"}, {"previous_key": f"{victim.id + 1}:{victim.key}"}]
    for members in wrong:
        assert refused(attempt(client, victim.hostname, secret, **members)) == "reenrolment_pending"
    assert victim.check_in().status_code == 200
    assert state(analyst, victim) == "pending"
    assert enrolment_of(analyst, victim)["pending"]["machine_id"] == "m-1"


def test_the_old_key_proves_that_it_is_the_same_host(
    client: httpx.Client, analyst: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    again = enrol(client, victim.hostname, secret, f"{victim.id}:{victim.key}")
    assert (again.id, again.check_in().status_code) == (victim.id, 200)
    assert victim.check_in().status_code == 401
    assert [one["action"] for one in enrolment_of(analyst, again)["history"]] == [
        "replaced",
        "enrolled",
    ]


def test_an_approved_machine_takes_its_name_back_and_nobody_else(
    client: httpx.Client, analyst: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    rebuilt = {"host": {"machine_id": "rebuilt"}}
    refused(attempt(client, victim.hostname, secret, **rebuilt))
    assert decide(analyst, victim, True).status_code == 200
    assert state(analyst, victim) == "approved"
    stranger = {"host": {"machine_id": "stranger"}}
    assert refused(attempt(client, victim.hostname, secret, **stranger)) == "reenrolment_pending"
    assert state(analyst, victim) == "approved"
    made = enrol(client, victim.hostname, secret, machine_id="rebuilt")
    assert (made.id, victim.check_in().status_code) == (victim.id, 401)
    assert state(analyst, made) == ""
    assert refused(attempt(client, victim.hostname, secret, **rebuilt)) == "reenrolment_pending"
    history = enrolment_of(analyst, made)["history"]
    assert [one["action"] for one in history] == [
        "requested",
        "replaced",
        "approved",
        "requested",
        "enrolled",
    ]
    assert (history[1]["address"], history[2]["username"]) == ("127.0.0.1", "admin")


def test_the_machine_that_was_read_is_approved_though_another_asked_meanwhile(
    client: httpx.Client, analyst: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    url = f"/api/v1/sensor/{victim.id}/enrolment"
    rebuilt, stranger = {"machine_id": "rebuilt"}, {"machine_id": "stranger"}
    refused(attempt(client, victim.hostname, secret, host=rebuilt))
    refused(attempt(client, victim.hostname, secret, host=stranger))
    for bad in ({"machine_id": 7}, {"machineid": "rebuilt"}):
        assert analyst.post(url, json={"approve": True, **bad}).status_code == 400
    for stale in ({"approve": True, "machine_id": "never asked"}, {"approve": False, **rebuilt}):
        answer = analyst.post(url, json=stale)
        assert (answer.status_code, answer.json()["reason"]) == (409, "changed_meanwhile")
    assert state(analyst, victim) == "pending"
    approved = analyst.post(url, json={"approve": True, **rebuilt}).json()
    assert approved["pending"]["machine_id"] == "rebuilt"
    assert [(one["action"], one["machine_id"]) for one in approved["history"]][:3] == [
        ("approved", "rebuilt"),
        ("requested", "stranger"),
        ("requested", "rebuilt"),
    ]
    refused(attempt(client, victim.hostname, secret, host=stranger))
    assert enrol(client, victim.hostname, secret, machine_id="rebuilt").id == victim.id


def test_an_approval_ends_after_a_day(
    server: Server, client: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    refused(attempt(client, victim.hostname, secret))
    with state_of(server) as database:
        before_us = SystemClock().now_us() - REENROLMENT_APPROVAL_US - 1
        key_replacement.approve(database, victim.id, "admin", before_us)
    assert refused(attempt(client, victim.hostname, secret)) == "reenrolment_pending"


def test_a_rejected_request_is_gone(
    client: httpx.Client, analyst: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    assert decide(analyst, victim, True).status_code == 404
    refused(attempt(client, victim.hostname, secret))
    assert decide(analyst, victim, "yes").status_code == 400
    assert decide(analyst, victim, False).status_code == 200
    assert state(analyst, victim) == ""
    assert decide(analyst, victim, True).status_code == 404


def test_approving_needs_the_administrator_role_of_the_group(
    server: Server, client: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    other, _ = open_group(server, "approvers elsewhere")
    refused(attempt(client, victim.hostname, secret))
    for number, roles in enumerate(
        ({1: Role.ANALYST}, {1: Role.VIEWER, other: Role.ADMINISTRATOR}, {other: Role.ANALYST})
    ):
        token = hire(server, f"approver-{number}", roles)
        with server.client(**{"X-Auth-Token": token}) as caller:
            assert decide(caller, victim, True).status_code in (403, 404)
    token = hire(server, "approver-of-group", {1: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as caller:
        assert decide(caller, victim, True).status_code == 200


def test_the_keys_of_a_sensor_are_replaced_only_so_often(
    client: httpx.Client, secret: str, victim: PlayedSensor
) -> None:
    for _ in range(KEY_REPLACEMENTS_MAX):
        victim = enrol(client, victim.hostname, secret, victim.key)
    answer = attempt(client, victim.hostname, secret, previous_key=victim.key)
    assert answer.status_code == 429
    assert answer.headers["retry-after"]
    assert victim.check_in().status_code == 200


def test_a_host_of_another_group_changes_nothing_about_an_enrolment(
    server: Server, client: httpx.Client, sender: httpx.Client, analyst: httpx.Client
) -> None:
    group_id, _ = open_group(server, "enrolling thieves")
    name = "shipped-only.enrol.example"
    record = {
        "_HOSTNAME": name,
        "MESSAGE": "x",
        "hostname": name,
    }
    event = {
        "EventID": 1,
        "Channel": "Microsoft-Windows-Sysmon/Operational",
        "Computer": name,
        "EventRecordID": 1,
        "UtcTime": time.strftime("%Y-%m-%d %H:%M:%S.000", time.gmtime()),
        "ProcessGuid": "{11111111-2222-3333-4444-555555555555}",
        "ProcessId": 7,
        "Image": "C:\\x.exe",
        "CommandLine": "x",
        "ParentProcessId": 1,
        "User": "A\\b",
        "ParentProcessGuid": "{11111111-2222-3333-4444-555555555556}",
        "Hashes": "MD5=" + "A" * 32,
    }
    assert sender.post("/api/v1/ingest", json=[event, record]).status_code == 200
    (known,) = analyst.get("/api/v1/sensor", params={"hostname": name}).json()
    secret = secret_of(server, group_id)
    answers = [attempt(client, one, secret) for one in (name, "nobody-has.enrol.example")]
    assert [one.status_code for one in answers] == [200, 200]
    assert answers[0].json().keys() == answers[1].json().keys()
    again = [attempt(client, one, secret) for one in (name, "nobody-has.enrol.example")]
    assert [refused(one) for one in again] == ["reenrolment_pending"] * 2
    assert analyst.get(f"/api/v1/sensor/{known['id']}").json()["group_id"] == 1
    both = analyst.get("/api/v1/sensor", params={"hostname": name}).json()
    assert {one["group_id"] for one in both} == {1, group_id}


def test_a_second_program_on_the_host_needs_its_machine_id(
    client: httpx.Client, secret: str
) -> None:
    sensor = enrol(client, "two.enrol.example", secret, machine_id="AAAA-BBBB")

    def enroll(uuid: str) -> httpx.Response:
        details = {"system_info": {"hostname": sensor.hostname, "uuid": uuid}}
        body = {"enroll_secret": secret, "host_details": details}
        return client.post("/osquery/enroll", json=body)

    for uuid in ("", "cccc"):
        assert refused(enroll(uuid)) == "reenrolment_pending"
    assert enroll("aaaabbbb").status_code == 200
    assert sensor.check_in().status_code == 200


def test_a_secret_may_be_good_for_a_time_and_for_some_hosts(
    server: Server, client: httpx.Client
) -> None:
    group_id, _ = open_group(server, "bounded secrets")
    now_us = SystemClock().now_us()
    with state_of(server) as database:
        two = enrolment.issue_secret(database, group_id, uses_max=2).secret
        brief = enrolment.issue_secret(database, group_id, expires_us=now_us + 1_500_000).secret
    first = enrol(client, "one.bounded.example", two)
    enrol(client, first.hostname, two, first.key)
    enrol(client, "two.bounded.example", two)
    assert attempt(client, "three.bounded.example", two).status_code == 401
    enrol(client, "four.bounded.example", brief)
    time.sleep(1.6)
    assert attempt(client, "five.bounded.example", brief).status_code == 401


def test_an_installer_is_for_administrators_of_its_group(server: Server) -> None:
    path = "/api/v1/group/1/installer/linux"
    for name, role in (("viewer", Role.VIEWER), ("analyst", Role.ANALYST)):
        token = hire(server, f"installing-{name}", {1: role})
        with server.client(**{"X-Auth-Token": token}) as caller:
            assert caller.get(path).status_code == 403
    other, _ = open_group(server, "installers elsewhere")
    token = hire(server, "installing-elsewhere", {1: Role.VIEWER, other: Role.ADMINISTRATOR})
    with server.client(**{"X-Auth-Token": token}) as caller:
        assert caller.get(path).status_code == 403
        assert caller.get(f"/api/v1/group/{other}/installer/linux").status_code == 200
