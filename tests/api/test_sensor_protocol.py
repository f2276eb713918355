"""The sensor protocol: enrolment, check-in, events (docs/sensor-protocol.md)."""

import gzip
from typing import Any

import httpx
import pytest
import zstandard

from tests.support.sensor import PlayedSensor, enrol, enrolment_body, event, secret_of, session
from tests.support.served import Server, open_group, state_of
from vedette.clock import SystemClock
from vedette.state.sensors import enrolment

HOUR_US = 3600 * 1_000_000


@pytest.fixture(scope="module")
def open_client(server: Server) -> Any:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def secret(server: Server) -> str:
    return secret_of(server)


@pytest.fixture
def sensor(open_client: httpx.Client, secret: str, request: pytest.FixtureRequest) -> PlayedSensor:
    name = request.node.name.replace("[", "-").replace("]", "").replace("_", "-")[:80]
    return enrol(open_client, f"{name}.example".lower(), secret)


def record_of(analyst: httpx.Client, sensor: PlayedSensor) -> dict[str, Any]:
    return dict(analyst.get(f"/api/v1/sensor/{sensor.id}").json())


def processes(analyst: httpx.Client, sensor: PlayedSensor, query: str) -> list[dict[str, Any]]:
    asked = {"q": f"hostname:{sensor.hostname} {query}", "rows": 100, "sort": "start asc"}
    return list(analyst.get("/api/v1/process", params=asked).json()["results"])


def now_us() -> int:
    return SystemClock().now_us()


# --- enrolment --------------------------------------------------------------------------


def test_an_enrolled_host_is_a_sensor_of_the_group_of_its_secret(
    server: Server, open_client: httpx.Client, analyst: httpx.Client
) -> None:
    group_id, _ = open_group(server, "enrolled here")
    sensor = enrol(open_client, "New-Host.Example", secret_of(server, group_id))
    record = record_of(analyst, sensor)
    assert (record["computer_dns_name"], record["group_id"]) == ("new-host.example", group_id)


def test_a_wrong_secret_is_401_and_makes_no_sensor(
    open_client: httpx.Client, analyst: httpx.Client
) -> None:
    answer = open_client.post("/sensor/v1/enrol", json=enrolment_body("no-one.example", "wrong"))
    assert (answer.status_code, answer.json()["reason"]) == (401, "unauthorized")
    assert analyst.get("/api/v1/sensor", params={"hostname": "no-one"}).json() == []


def test_an_old_secret_is_good_until_it_is_revoked(
    server: Server, open_client: httpx.Client
) -> None:
    group_id, _ = open_group(server, "rotating")
    old = secret_of(server, group_id)
    with state_of(server) as database:
        new = enrolment.issue_secret(database, group_id)
        (first, _) = enrolment.group_secrets(database, group_id)
        assert enrolment.current_secret(database, group_id) == new.secret != old
        enrol(open_client, "rotated-1.example", old)
        enrolment.revoke_secret(database, group_id, first.id)
    answer = open_client.post("/sensor/v1/enrol", json=enrolment_body("rotated-2.example", old))
    assert answer.status_code == 401
    enrol(open_client, "rotated-2.example", new.secret)


def test_enrolling_again_ends_the_old_key(
    open_client: httpx.Client, secret: str, sensor: PlayedSensor
) -> None:
    assert sensor.check_in().status_code == 200
    again = enrol(open_client, sensor.hostname, secret, sensor.key)
    assert again.id == sensor.id
    assert again.check_in().status_code == 200
    assert sensor.check_in().status_code == 401


def test_a_secret_of_another_group_cannot_take_over_a_sensor(
    server: Server, open_client: httpx.Client, sensor: PlayedSensor
) -> None:
    group_id, _ = open_group(server, "thieves")
    thief = enrol(open_client, sensor.hostname, secret_of(server, group_id))
    assert thief.id != sensor.id
    assert thief.check_in().status_code == 200
    assert sensor.check_in().status_code == 200


@pytest.mark.parametrize(
    ("change", "member"),
    [
        ({"hostname": ""}, "host.hostname"),
        ({"hostname": "x" * 300}, "host.hostname"),
        ({"hostname": "two words"}, "hostname"),
        ({"os_type": "beos"}, "host.os_type"),
        ({"physical_memory_size": -1}, "host.physical_memory_size"),
        ({"kernel": "k" * 2_000}, "host.kernel"),
    ],
)
def test_an_absurd_host_is_400(
    open_client: httpx.Client, secret: str, change: dict[str, Any], member: str
) -> None:
    name = str(change.pop("hostname", "absurd.example"))
    answer = open_client.post("/sensor/v1/enrol", json=enrolment_body(name, secret, **change))
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(member + ":")


def test_events_carry_the_address_that_the_sensor_reported(
    open_client: httpx.Client, analyst: httpx.Client, secret: str
) -> None:
    sensor = enrol(open_client, "with-address.example", secret)
    adapters = [{"ip": "fd00::7", "mac": ""}, {"ip": "10.20.30.40", "mac": "02:00:00:00:00:01"}]
    assert sensor.check_in(adapters=adapters).status_code == 200
    base_us = now_us() - 60_000_000
    assert sensor.send(session(base_us)[:2]).status_code == 200
    (row, *_) = processes(analyst, sensor, "")
    assert row["interface_ip"] == int.from_bytes(bytes([10, 20, 30, 40]), "big", signed=True)
    assert sensor.send(session(base_us)[2:]).status_code == 200
    assert len(processes(analyst, sensor, "interface_ip:10.20.30.40")) >= 2


@pytest.mark.parametrize("os_type", ["windows", "osx", "linux"])
def test_events_carry_the_operating_system_that_the_sensor_enrolled_with(
    open_client: httpx.Client, analyst: httpx.Client, secret: str, os_type: str
) -> None:
    sensor = enrol(open_client, f"of-{os_type}.example", secret, os_type=os_type)
    assert sensor.send(session(now_us() - 60_000_000)).status_code == 200
    rows = processes(analyst, sensor, "")
    assert {row["os_type"] for row in rows} == {os_type}
    assert len(rows) == len(processes(analyst, sensor, f"os_type:{os_type}"))
    assert record_of(analyst, sensor)["computer_name"].isupper() == (os_type == "windows")


# --- credentials ------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["checkin", "events"])
def test_a_key_of_another_sensor_is_401(
    open_client: httpx.Client, secret: str, sensor: PlayedSensor, path: str
) -> None:
    other = enrol(open_client, f"other-of-{path}.example", secret)
    for header in (f"Sensor {other.id}:{sensor.key}", f"Sensor {sensor.id}:x", "Sensor x:y"):
        answer = open_client.post(f"/sensor/v1/{path}", headers={"Authorization": header})
        assert answer.status_code == 401


def test_a_message_that_names_another_sensor_is_403(sensor: PlayedSensor) -> None:
    assert sensor.check_in(sensor_id=sensor.id + 1).status_code == 403
    assert sensor.check_in(sensor_id=sensor.id).status_code == 200
    event = {"sensor_id": sensor.id + 1, "command": 'says "sensor_id": 1'}
    assert sensor.send([event]).status_code == 403


def test_an_api_token_is_no_key(analyst: httpx.Client) -> None:
    assert analyst.post("/sensor/v1/checkin", json={"clock_us": 1}).status_code == 403


# --- check-in ---------------------------------------------------------------------------


def test_a_check_in_is_answered_with_all_orders(sensor: PlayedSensor) -> None:
    # Other tests ban and filter: what a sensor has already is not sent to it again.
    first = sensor.check_in().json()
    have = {
        name: (first[orders] or {"version": 0})["version"]
        for name, orders in (("ban_version", "bans"), ("filter_version", "filters"))
    }
    body = sensor.check_in(**have).json()
    assert body["checkin_interval_s"] == 30
    assert abs(body.pop("server_time_us") - now_us()) < HOUR_US
    body.pop("checkin_interval_s")
    assert body == {
        "isolate": False,
        "isolation_allow": [],
        "flush_before_us": None,
        "flush_number": None,
        "restart": False,
        "uninstall": False,
        "bans": None,
        "filters": None,
        "update": None,
        "want_binaries": [],
        "not_collected": ["amsi", "storefiles"],
        "quotas": {
            "eventlog_bytes": 1 << 30,
            "eventlog_percent": 1,
            "storefile_bytes": 1 << 30,
            "storefile_percent": 1,
        },
        "event_format": 1,
    }


ABSURD = [
    ("uptime_s", -1),
    ("event_backlog_bytes", 2**63),
    ("event_backlog_bytes", 10**30),
    ("health_status", 101),
    ("health_message", "x" * 2_000),
    ("adapters", [{"ip": "not an address", "mac": ""}]),
    ("adapters", [{}] * 100),
    ("boot_id", 7),
    ("clock_us", -5),
    ("is_isolating", "yes"),
    ("blocks", [{"md5": "short"}]),
]


@pytest.mark.parametrize(
    ("member", "value"), ABSURD, ids=[f"{m}-{n}" for n, (m, _) in enumerate(ABSURD)]
)
def test_an_absurd_report_is_400_and_changes_nothing(
    analyst: httpx.Client, sensor: PlayedSensor, member: str, value: Any
) -> None:
    before = record_of(analyst, sensor)
    answer = sensor.check_in(**{"uptime_s": 77, member: value})
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_member")
    assert member in answer.json()["message"]
    assert record_of(analyst, sensor) == before


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"{}", b"\xff\xfe"])
def test_a_body_that_is_no_check_in_is_400(sensor: PlayedSensor, body: bytes) -> None:
    answer = sensor.client.post("/sensor/v1/checkin", content=body, headers=sensor.headers)
    assert answer.status_code == 400


def test_processes_report_the_kind_of_their_host_and_where_it_sends_from(
    open_client: httpx.Client, secret: str, analyst: httpx.Client
) -> None:
    made = enrol(open_client, "kind-of-host.example", secret, host_type="server")
    made.send(session(now_us()))
    found = processes(analyst, made, "host_type:server comms_ip:127.0.0.1")
    assert found
    assert {one["host_type"] for one in found} == {"server"}
    assert {one["comms_ip"] for one in found} == {0x7F000001}


def test_a_kind_of_host_that_there_is_not_is_refused(
    open_client: httpx.Client, secret: str
) -> None:
    body = enrolment_body("odd-host.example", secret, host_type="toaster")
    answer = open_client.post("/sensor/v1/enrol", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("host.host_type:")


# --- events -----------------------------------------------------------------------------


def test_what_a_sensor_sends_is_found_by_search(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    answer = sensor.send(session(now_us() - HOUR_US))
    assert answer.json() == {"acknowledged": 1, "expected": 2, "rejected": []}
    found = processes(analyst, sensor, "")
    assert [row["path"] for row in found if row["start"]][-3:] == [
        "/bin/bash",
        "/usr/bin/curl",
        "/usr/bin/python3",
    ]
    (curl,) = processes(analyst, sensor, "path:/usr/bin/curl")
    assert (curl["netconn_count"], curl["filemod_count"], curl["username"]) == (1, 4, "alice")
    assert len(processes(analyst, sensor, "ipaddr:203.0.113.7")) == 1
    assert len(processes(analyst, sensor, "block_type:2")) == 1


def test_an_exec_is_a_new_process_that_the_old_image_began(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    sensor.send(session(now_us() - HOUR_US))
    (python,) = processes(analyst, sensor, "path:/usr/bin/python3")
    (curl,) = processes(analyst, sensor, "path:/usr/bin/curl")
    assert python["process_pid"] == curl["process_pid"] == 501
    assert (python["filemod_count"], curl["terminated"]) == (1, True)
    assert python["id"] != curl["id"]


def test_a_replayed_block_is_answered_alike_and_stored_once(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    events = session(now_us() - HOUR_US)
    first, second = sensor.send(events, 1), sensor.send(events, 1)
    assert (second.status_code, second.json()) == (200, first.json())
    (curl,) = processes(analyst, sensor, "path:/usr/bin/curl")
    assert curl["filemod_count"] == 4


def test_another_block_under_a_stored_number_is_409(sensor: PlayedSensor) -> None:
    sensor.send([event("end", now_us(), 7, now_us())], 1)
    answer = sensor.send([event("end", now_us(), 8, now_us())], 1)
    assert (answer.status_code, answer.json()["reason"]) == (409, "sequence_conflict")


def test_a_gap_is_shown_and_a_late_block_fills_it(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    expected = []
    for number in (1, 5, 3):
        answer = sensor.send([event("end", now_us(), number, now_us())], number).json()
        expected.append(answer["expected"])
        assert answer["acknowledged"] == number
    assert expected == [2, 6, 6]
    record = record_of(analyst, sensor)
    assert (record["sequence_gaps"], record["missing_blocks"]) == (2, 2)
    sensor.send([], 2)
    sensor.send([], 4)
    record = record_of(analyst, sensor)
    assert (record["sequence_gaps"], record["missing_blocks"]) == (0, 0)


def test_a_new_machine_of_the_same_name_begins_without_gaps(
    analyst: httpx.Client, open_client: httpx.Client, secret: str, sensor: PlayedSensor
) -> None:
    sensor.send([], 9)
    assert record_of(analyst, sensor)["missing_blocks"] == 8
    enrol(open_client, sensor.hostname, secret, sensor.key, machine_id="m-2")
    record = record_of(analyst, sensor)
    assert (record["missing_blocks"], record["reenrolled"]) == (0, 1)


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("zstd", zstandard.compress)]
)
def test_blocks_may_be_compressed(
    analyst: httpx.Client, sensor: PlayedSensor, encoding: str, compress: Any
) -> None:
    line = b'{"vedette_event":1,"type":"end","time_us":%d,"proc":{"pid":9,"start_us":%d}}'
    body = compress(line % (now_us(), now_us() - 1))
    answer = sensor.send_raw(body, 1, **{"Content-Encoding": encoding})
    assert answer.json()["rejected"] == []
    assert len(processes(analyst, sensor, "process_pid:9")) == 1


def test_a_bomb_is_413(sensor: PlayedSensor) -> None:
    body = gzip.compress(b" " * (8 << 20))
    answer = sensor.send_raw(body, 1, **{"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")


def test_bad_events_are_refused_one_by_one(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    good = event("start", now_us(), 44, now_us() - 5, path="/bin/good", cmdline="good")
    events = [
        {"vedette_event": 2, "type": "end"},
        event("dance", now_us(), 1, 1),
        {"vedette_event": 1, "type": "end", "time_us": now_us(), "proc": {"pid": -1}},
        event("end", now_us() + 3 * 24 * HOUR_US, 1, 1),
        good,
        event("file", now_us(), 44, now_us() - 5, action="dance", path="/x"),
    ]
    answer = sensor.send(events).json()
    assert [(one["position"], one["reason"]) for one in answer["rejected"]] == [
        (0, "unknown_format"),
        (1, "unknown_format"),
        (2, "bad_process"),
        (3, "bad_time"),
        (5, "bad_event"),
    ]
    assert len(processes(analyst, sensor, "path:/bin/good")) == 1


def test_a_sensor_writes_only_as_itself(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    """Whatever host its events name, in whatever format."""
    start = event("start", now_us(), 66, now_us() - 9, path="/bin/liar", hostname="victim.example")
    shipped = {
        "ID": f"{now_us() // 1_000_000}.001:99",
        "NODE": "victim.example",
        "SYSCALL": {
            "SYSCALL": "execve",
            "syscall": 59,
            "success": "yes",
            "pid": 67,
            "ppid": 1,
            "uid": 0,
            "exe": "/bin/liar",
            "comm": "liar",
        },
    }
    assert sensor.send([start, shipped]).json()["rejected"] == []
    assert len(processes(analyst, sensor, "path:/bin/liar")) == 2
    assert analyst.get("/api/v1/sensor", params={"hostname": "victim.example"}).json() == []


@pytest.mark.parametrize(
    "query",
    [
        "",
        "epoch=e1",
        "sequence=1",
        "epoch=e1&sequence=0",
        "epoch=a%20b&sequence=1",
        "epoch=e1&sequence=1e3",
        f"epoch=e1&sequence={2**60}",
    ],
)
def test_a_block_without_its_place_is_400(sensor: PlayedSensor, query: str) -> None:
    answer = sensor.client.post(f"/sensor/v1/events?{query}", headers=sensor.headers)
    assert answer.status_code == 400


def test_hours_are_those_of_the_clock_that_a_sensor_tells(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    assert sensor.check_in(utc_offset_min=-330).status_code == 200
    at_us = now_us() // HOUR_US * HOUR_US - 5 * HOUR_US
    begun = event("start", at_us, 700, at_us, path="/bin/true", cmdline="true", ppid=1)
    assert sensor.send([begun]).status_code == 200
    hour = (at_us // HOUR_US - 6) % 24  # five and a half hours ago began the hour before
    found = processes(analyst, sensor, f"path:/bin/true hour_of_day:{hour}")
    assert len(found) == 1
