"""Files of programs that somebody orders from the hosts that have them."""

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.api.test_binary_reading import put, started
from tests.support.sensor import PlayedSensor, enrol, secret_of, sending_group
from tests.support.served import Server, hire, open_group, state_of, wait_for
from tests.support.sysmon import Story
from vedette.clock import SystemClock
from vedette.model.principal import Role
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import Search
from vedette.state.db.schema_fleet import BINARY_ORDER

WAIT_S = 60


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as made:
        yield made


@pytest.fixture(scope="module")
def group(server: Server) -> int:
    """A group whose sensors send what they are asked for."""
    return sending_group(server, "Sends what is asked", binary_orders="asked")


def sensor_in(server: Server, client: httpx.Client, group_id: int) -> PlayedSensor:
    name = f"ordered-{os.urandom(4).hex()}.example"
    return enrol(client, name, secret_of(server, group_id))


@pytest.fixture
def sensor(server: Server, client: httpx.Client, group: int) -> PlayedSensor:
    return sensor_in(server, client, group)


class Program:
    """A program of a sensor, that nobody has a copy of."""

    def __init__(self, sensor: PlayedSensor, content: bytes = b"") -> None:
        self.content = content or os.urandom(2_000)
        self.md5 = hashlib.md5(self.content).hexdigest()
        self.sha256 = hashlib.sha256(self.content).hexdigest()
        self.path = f"/opt/{self.md5[:8]}"
        self.request = f"/api/v1/binary/{self.md5}/request"
        started(sensor, self.path, self.md5, self.sha256)

    @property
    def offered(self) -> dict[str, Any]:
        size = len(self.content)
        return {"sha256": self.sha256, "md5": self.md5, "size": size, "path": self.path}

    @property
    def wanted(self) -> dict[str, Any]:
        return {"md5": self.md5, "sha256": self.sha256, "paths": [self.path]}


def wanted_of(sensor: PlayedSensor, **members: Any) -> list[dict[str, Any]]:
    return list(sensor.check_in(**members).json()["want_binaries"])


def state_at(client: httpx.Client, program: Program) -> str:
    return str(client.get(program.request).json()["state"])


def test_an_ordered_file_is_asked_for_comes_and_is_downloaded(
    server: Server, analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    program = Program(sensor)
    assert state_at(analyst, program) == "none"
    made = analyst.post(program.request)
    assert made.status_code == 200, made.text
    (order,) = made.json()["requests"]
    assert (order["hostname"], order["requested_by"]) == (sensor.hostname, "admin")
    assert (made.json()["state"], order["ended"]) == ("waiting", None)
    assert wanted_of(sensor) == [program.wanted]
    assert state_at(analyst, program) == "sent"
    (offer,) = sensor.post("binaries/offer", {"files": [program.offered]}).json()["want"]
    assert offer == {"sha256": program.sha256, "offset": 0}
    put(sensor, program.sha256, 0, program.content[:500])
    arriving = analyst.get(program.request).json()
    assert (arriving["state"], arriving["requests"][0]["received"]) == ("arriving", 500)
    put(sensor, program.sha256, 500, program.content[500:])
    done = analyst.get(program.request).json()
    assert (done["state"], done["requests"][0]["state"]) == ("stored", "done")
    assert done["copied_mod_len"] == len(program.content)
    assert wanted_of(sensor) == []
    answer = analyst.get(f"/api/v1/binary/{program.md5}")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as found:
        assert found.read("filedata") == program.content
    again = analyst.post(program.request).json()
    assert (again["state"], len(again["requests"])) == ("stored", 1)
    with state_of(server) as database:
        wanted = Search(kind="file copy", target=program.md5, rows=5)
        _, entries = audit_trail.search(database, wanted)
    assert [(one.action, one.author) for one in entries] == [("read", "admin")]


def test_an_order_is_made_once_and_audited(
    server: Server, analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    program = Program(sensor)
    for _ in range(3):
        assert len(analyst.post(program.request, json={}).json()["requests"]) == 1
    with state_of(server) as database:
        _, entries = audit_trail.search(database, Search(kind="binary order", rows=1_000))
    mine = [one for one in entries if program.md5 in str(one.after)]
    assert [(one.action, one.author) for one in mine] == [("create", "admin")]


def test_nothing_but_what_was_ordered_is_taken(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    program, other = Program(sensor), Program(sensor)
    analyst.post(program.request)
    files = [other.offered, program.offered]
    wanted = sensor.post("binaries/offer", {"files": files}).json()["want"]
    assert [one["sha256"] for one in wanted] == [program.sha256]
    answer = sensor.client.put(
        f"/sensor/v1/binaries/{other.sha256}", content=other.content, headers=sensor.headers
    )
    assert answer.status_code == 404


def test_a_sensor_says_that_it_cannot_send_a_file(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    program = Program(sensor)
    analyst.post(program.request)
    reason = {"md5": program.md5, "sha256": program.sha256, "reason": "it is gone"}
    assert wanted_of(sensor, unsent=[reason]) == []
    body = analyst.get(program.request).json()
    assert (body["state"], body["requests"][0]["message"]) == ("failed", "it is gone")
    assert analyst.post(program.request).json()["state"] == "waiting"


def test_a_sensor_cannot_end_the_order_of_another(
    server: Server, client: httpx.Client, analyst: httpx.Client, sensor: PlayedSensor, group: int
) -> None:
    program = Program(sensor)
    analyst.post(program.request)
    other = sensor_in(server, client, group)
    wanted_of(other, unsent=[{"md5": program.md5, "sha256": program.sha256, "reason": "no"}])
    assert state_at(analyst, program) == "waiting"


@pytest.mark.parametrize(
    "unsent", [[{"md5": "x"}], [{"sha256": "ab"}], {}, [5], [{"reason": "r" * 5_000}]]
)
def test_a_refusal_that_is_none_is_400(sensor: PlayedSensor, unsent: Any) -> None:
    assert sensor.check_in(unsent=unsent).status_code == 400


def test_an_order_that_is_taken_back_is_not_handed_out(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    program = Program(sensor)
    analyst.post(program.request)
    assert analyst.delete(program.request).json()["state"] == "cancelled"
    assert wanted_of(sensor) == []
    assert sensor.post("binaries/offer", {"files": [program.offered]}).json()["want"] == []


def test_an_order_ends_at_its_time(
    server: Server, analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    program = Program(sensor)
    made = analyst.post(program.request, json={"expires_hours": 1}).json()["requests"][0]
    with state_of(server) as database, database.writing() as connection:
        past = BINARY_ORDER.update().where(BINARY_ORDER.c.id == made["id"])
        connection.execute(past.values(expires_us=SystemClock().now_us() - 1))
    assert wanted_of(sensor) == []
    assert state_at(analyst, program) == "expired"


@pytest.mark.parametrize("hours", [0, -1, 10_000, "x", None, True, 1.5])
def test_an_absurd_time_is_400(analyst: httpx.Client, sensor: PlayedSensor, hours: Any) -> None:
    answer = analyst.post(Program(sensor).request, json={"expires_hours": hours})
    assert (answer.status_code, "expires_hours" in answer.json()["message"]) == (400, True)


def test_an_unknown_member_of_an_order_is_400(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    answer = analyst.post(Program(sensor).request, json={"sensor_id": 1})
    assert (answer.status_code, "sensor_id" in answer.json()["message"]) == (400, True)


def test_a_group_that_sends_nothing_is_named(
    server: Server, client: httpx.Client, analyst: httpx.Client
) -> None:
    name = f"quiet-{os.urandom(3).hex()}"
    group_id, _ = open_group(server, name)
    sensor = sensor_in(server, client, group_id)
    program = Program(sensor)
    answer = analyst.post(program.request)
    assert (answer.status_code, answer.json()["reason"]) == (409, "orders_off")
    assert name in answer.json()["message"]
    assert sensor.post("binaries/offer", {"files": [program.offered]}).json()["want"] == []


def test_a_switch_that_is_turned_off_stops_what_was_ordered(
    server: Server, client: httpx.Client, analyst: httpx.Client
) -> None:
    name = f"switched-{os.urandom(3).hex()}"
    group_id = sending_group(server, name, binary_orders="asked")
    sensor = sensor_in(server, client, group_id)
    program = Program(sensor)
    assert analyst.post(program.request).status_code == 200
    changed = analyst.put(f"/api/group/{group_id}", json={"binary_orders": "off"})
    assert changed.status_code == 200, changed.text
    assert wanted_of(sensor) == []
    assert sensor.post("binaries/offer", {"files": [program.offered]}).json()["want"] == []


def test_a_switch_that_is_none_is_400(analyst: httpx.Client, group: int) -> None:
    answer = analyst.put(f"/api/group/{group}", json={"binary_orders": "always"})
    assert (answer.status_code, "binary_orders" in answer.json()["message"]) == (400, True)


def test_a_file_that_only_shippers_report_cannot_be_ordered(
    analyst: httpx.Client, sent_story: Story
) -> None:
    answer = analyst.post(f"/api/v1/binary/{sent_story.whoami.md5}/request")
    assert (answer.status_code, answer.json()["reason"]) == (409, "no_sensor")


def test_a_file_is_ordered_through_the_callers_groups_alone(
    server: Server, client: httpx.Client, analyst: httpx.Client, group: int
) -> None:
    """Two groups have the file; the caller is Analyst in one and Viewer in none of the other."""
    own_id = sending_group(server, f"own-{os.urandom(3).hex()}", binary_orders="asked")
    theirs, mine = sensor_in(server, client, group), sensor_in(server, client, own_id)
    program = Program(theirs)
    Program(mine, program.content)
    token = hire(server, f"orders-{own_id}", {own_id: Role.ANALYST})
    with server.client(**{"X-Auth-Token": token}) as own:
        made = own.post(program.request).json()
        assert [one["sensor_id"] for one in made["requests"]] == [mine.id]
    assert wanted_of(theirs) == []
    assert wanted_of(mine) == [program.wanted]
    assert {one["sensor_id"] for one in analyst.get(program.request).json()["requests"]} == {
        mine.id
    }


def test_a_program_that_nobody_signed_is_ordered_when_it_is_first_seen(
    server: Server, client: httpx.Client, analyst: httpx.Client
) -> None:
    group_id = sending_group(server, f"ruled-{os.urandom(3).hex()}", binary_orders="unsigned")
    sensor = sensor_in(server, client, group_id)
    program = Program(sensor)
    assert wait_for(lambda: state_at(analyst, program), "waiting", WAIT_S) == "waiting"
    (order,) = analyst.get(program.request).json()["requests"]
    assert order["requested_by"] == ""
    assert wait_for(lambda: wanted_of(sensor), [program.wanted], WAIT_S) == [program.wanted]
    reason = {"md5": program.md5, "sha256": program.sha256, "reason": "it is gone"}
    wanted_of(sensor, unsent=[reason])
    started(sensor, program.path, program.md5, program.sha256)  # not the first sight any more
    another = Program(sensor)
    assert wait_for(lambda: state_at(analyst, another), "waiting", WAIT_S) == "waiting"
    assert state_at(analyst, program) == "failed"
