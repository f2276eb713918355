"""Orders of users, and their execution by sensors at check-in (docs/api-objects.md#isolation)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.support.sensor import PlayedSensor, enrol, secret_of
from tests.support.served import Server, hire, open_group, wait_for
from tests.support.sysmon import Story
from vedette.model.principal import Role

FAR = "Sat, 20 Nov 2027 13:24:20 GMT"


@pytest.fixture(scope="module")
def open_client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def sensor(
    server: Server, open_client: httpx.Client, request: pytest.FixtureRequest
) -> PlayedSensor:
    name = request.node.name.replace("[", "-").replace("]", "").replace("_", "-")[:80]
    return enrol(open_client, f"{name}.example".lower(), secret_of(server))


def record_of(client: httpx.Client, sensor: PlayedSensor) -> dict[str, Any]:
    return dict(client.get(f"/api/v1/sensor/{sensor.id}").json())


def put(client: httpx.Client, sensor: PlayedSensor, **members: Any) -> httpx.Response:
    return client.put(f"/api/v1/sensor/{sensor.id}", json=members)


def phase(client: httpx.Client, sensor: PlayedSensor) -> int:
    record = record_of(client, sensor)
    pair = record["network_isolation_enabled"], record["is_isolating"]
    return [(False, False), (True, False), (True, True), (False, True)].index(pair)


# --- isolation --------------------------------------------------------------------------


def test_isolation_goes_through_its_four_phases(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    phases = [phase(analyst, sensor)]
    put(analyst, sensor, network_isolation_enabled=True)
    phases.append(phase(analyst, sensor))
    assert sensor.obey()["isolate"] is True
    phases.append(phase(analyst, sensor))
    sensor.obey()
    phases.append(phase(analyst, sensor))
    put(analyst, sensor, network_isolation_enabled=False)
    phases.append(phase(analyst, sensor))
    assert sensor.obey()["isolate"] is False
    phases.append(phase(analyst, sensor))
    sensor.obey()
    phases.append(phase(analyst, sensor))
    assert phases == [0, 1, 1, 2, 3, 3, 0]


def test_an_uninstalled_sensor_cannot_be_isolated(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    sensor.check_in(uninstalling=True)
    answer = put(analyst, sensor, network_isolation_enabled=True)
    assert (answer.status_code, answer.json()["reason"]) == (409, "conflict")
    assert phase(analyst, sensor) == 0


def test_a_host_without_a_sensor_cannot_be_isolated(
    analyst: httpx.Client, sent_story: Story
) -> None:
    (record,) = analyst.get("/api/v1/sensor", params={"hostname": sent_story.host.name}).json()
    answer = analyst.put(f"/api/v1/sensor/{record['id']}", json={"network_isolation_enabled": True})
    assert answer.status_code == 409
    assert record["supports_isolation"] is False


def test_a_refused_order_is_named_as_the_api_names_it(
    analyst: httpx.Client, sent_story: Story
) -> None:
    (record,) = analyst.get("/api/v1/sensor", params={"hostname": sent_story.host.name}).json()
    path = f"/api/v1/sensor/{record['id']}"
    for name, value in (
        ("event_log_flush_time", FAR),
        ("restart_queued", True),
        ("network_isolation_enabled", "true"),
    ):
        answer = analyst.put(path, json={name: value})
        assert answer.status_code == 409
        assert answer.json()["message"].startswith(f"{name}: ")
        many = {"ids": [record["id"]], name: value}
        for body in (many | {"dry_run": True}, many):
            (refused,) = analyst.put("/api/v1/sensor", json=body).json()["refused"]
            assert refused["message"].startswith(f"{name}: ")


# --- the other orders -------------------------------------------------------------------


def test_a_flush_repeats_until_it_is_done_and_clears_itself(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    assert put(analyst, sensor, event_log_flush_time=FAR).status_code == 204
    flush_us = sensor.check_in().json()["flush_before_us"]
    assert flush_us == 1_826_717_060_000_000
    assert record_of(analyst, sensor)["event_log_flush_time"].startswith("2027-11-20")
    assert sensor.check_in(flushed_before_us=flush_us - 1).json()["flush_before_us"] == flush_us
    assert sensor.check_in(flushed_before_us=flush_us).json()["flush_before_us"] is None
    assert record_of(analyst, sensor)["event_log_flush_time"] is None


def test_the_same_date_twice_is_two_flushes(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    put(analyst, sensor, event_log_flush_time=FAR)
    first = sensor.check_in().json()
    done = {"flushed_before_us": first["flush_before_us"], "flushed_number": first["flush_number"]}
    assert sensor.check_in(**done).json()["flush_before_us"] is None
    put(analyst, sensor, event_log_flush_time=FAR)
    second = sensor.check_in(**done).json()
    assert second["flush_before_us"] == first["flush_before_us"]
    assert second["flush_number"] > first["flush_number"]
    assert sensor.check_in(flushed_number=second["flush_number"]).json()["flush_before_us"] is None


def test_a_change_of_something_else_leaves_a_flush_alone(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    put(analyst, sensor, event_log_flush_time=FAR)
    put(analyst, sensor, event_log_flush_time=None, notes="x")
    assert record_of(analyst, sensor)["event_log_flush_time"] is not None
    put(analyst, sensor, event_log_flush_time="1970-01-01T00:00:00Z")
    assert record_of(analyst, sensor)["event_log_flush_time"] is None


def test_a_restart_is_asked_for_until_the_sensor_says_so(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    put(analyst, sensor, restart_queued=True)
    assert sensor.check_in().json()["restart"] is True
    assert sensor.check_in(restarted=True).json()["restart"] is False
    assert record_of(analyst, sensor)["restart_queued"] is False


def test_an_uninstall_ends_with_the_last_check_in(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    sensor.check_in()
    assert record_of(analyst, sensor)["status"] == "Online"
    put(analyst, sensor, uninstall=True)
    assert record_of(analyst, sensor)["status"] == "Uninstall Pending"
    assert sensor.check_in().json()["uninstall"] is True
    sensor.check_in(uninstalling=True)
    record = record_of(analyst, sensor)
    assert (record["status"], record["uninstalled"]) == ("Uninstalled", True)


def test_a_sensor_that_is_installed_again_is_there_again(
    server: Server, analyst: httpx.Client, open_client: httpx.Client, sensor: PlayedSensor
) -> None:
    put(analyst, sensor, uninstall=True)
    sensor.check_in(uninstalling=True)
    again = enrol(open_client, sensor.hostname, secret_of(server))
    assert again.check_in().json()["uninstall"] is False
    record = record_of(analyst, again)
    assert (record["id"], record["status"], record["uninstalled"]) == (sensor.id, "Online", None)


# --- reports ----------------------------------------------------------------------------

CHECK_IN = {
    "boot_id": "7",
    "uptime_s": 100,
    "sensor_uptime_s": 90,
    "sensor_version": "1.2.3",
    "health_status": 95,
    "health_message": "Elevated memory usage",
    "event_backlog_bytes": 33_200,
    "file_backlog_bytes": 12,
    "system_volume_total_bytes": 2**40,
    "system_volume_free_bytes": 2**39,
    "physical_memory_size": 2**34,
    "adapters": [
        {"ip": "192.168.1.163", "mac": "00:15:5d:01:9c:08"},
        {"ip": "fe80::1", "mac": ""},
    ],
}


def test_a_report_is_shown_in_the_types_that_clients_parse(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    sensor.check_in(**CHECK_IN)
    record = record_of(analyst, sensor)
    shown = {
        "boot_id": "7",
        "uptime": "100",
        "sensor_uptime": "90",
        "build_version_string": "1.2.3",
        "sensor_health_status": 95,
        "sensor_health_message": "Elevated memory usage",
        "num_eventlog_bytes": "33200",
        "num_storefiles_bytes": "12",
        "systemvolume_total_size": str(2**40),
        "systemvolume_free_size": str(2**39),
        "physical_memory_size": str(2**34),
        "network_adapters": "192.168.1.163,00155d019c08|fe80::1,000000000000|",
        "clock_delta": "0",
        "supports_isolation": True,
    }
    assert {name: record[name] for name in shown} == shown


def test_a_check_in_leaves_alone_what_it_does_not_tell(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    sensor.check_in(**CHECK_IN)
    before = record_of(analyst, sensor)
    sensor.check_in()
    after = record_of(analyst, sensor)
    moved = {"last_checkin_time", "last_update", "next_checkin_time"}
    assert {name for name in before if before[name] != after[name]} <= moved


def test_a_sensor_is_found_by_its_addresses_and_not_by_their_macs(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    sensor.check_in(**CHECK_IN | {"adapters": [{"ip": "172.31.250.9", "mac": "ab:cd:ef:fe:dc:ba"}]})
    for part, count in (("31.250.9", 1), ("abcdef", 0)):
        found = analyst.get("/api/v1/sensor", params={"ip": part, "hostname": "not counted"}).json()
        assert len(found) == count


def test_statistics_add_up_the_backlogs(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    before = analyst.get("/api/v1/sensor/statistics").json()
    sensor.check_in(event_backlog_bytes=500, file_backlog_bytes=70)
    after = analyst.get("/api/v1/sensor/statistics").json()
    assert after["num_eventlog_bytes"] - before["num_eventlog_bytes"] == 500
    assert after["num_storefile_bytes"] - before["num_storefile_bytes"] == 70


@pytest.mark.parametrize("name", ["queued", "activity", "resourcestatus"])
def test_statistics_of_one_sensor_are_lists(
    analyst: httpx.Client, sensor: PlayedSensor, name: str
) -> None:
    assert analyst.get(f"/api/v1/sensor/{sensor.id}/{name}").json() == []
    sensor.check_in(**CHECK_IN)
    (row,) = analyst.get(f"/api/v1/sensor/{sensor.id}/{name}").json()
    assert row["sensor_id"] == sensor.id
    assert analyst.get(f"/api/v1/sensor/99999/{name}").status_code == 404


def test_pages_can_be_sorted_by_every_member_of_the_record(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    for name in record_of(analyst, sensor):
        for direction in ("asc", "desc"):
            asked = {"sort.col": name, "sort.dir": direction, "rows": 1000}
            page = analyst.get("/api/v2/sensor", params=asked)
            assert page.status_code == 200, name
            ids = [one["id"] for one in page.json()["results"]]
            assert len(set(ids)) == len(ids) == page.json()["total_results"]


# --- PUT --------------------------------------------------------------------------------


def test_a_whole_record_may_be_sent_back(analyst: httpx.Client, sensor: PlayedSensor) -> None:
    record = record_of(analyst, sensor)
    sensor.check_in(**CHECK_IN)
    assert put(analyst, sensor, **record | {"notes": "seen"}).status_code == 204
    assert record_of(analyst, sensor)["notes"] == "seen"
    put(analyst, sensor, notes=None)
    assert record_of(analyst, sensor)["notes"] is None


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("network_isolation_enabled", "yes"),
        ("restart_queued", 1),
        ("uninstall", None),
        ("group_id", "x"),
        ("group_id", True),
        ("group_id", 4_711),
        ("notes", 5),
        ("notes", "n" * 20_000),
        ("event_log_flush_time", "soon"),
        ("event_log_flush_time", 5),
        ("id", 4_711),
        ("computer_name", "other"),
        ("no_such_member", 1),
    ],
)
def test_a_change_that_cannot_be_is_400_and_changes_nothing(
    analyst: httpx.Client, sensor: PlayedSensor, member: str, value: Any
) -> None:
    before = record_of(analyst, sensor)
    body = {"network_isolation_enabled": True, member: value}
    answer = put(analyst, sensor, **body)
    assert answer.status_code == 400
    assert member in answer.json()["message"]
    assert record_of(analyst, sensor) == before


@pytest.mark.parametrize("path", ["-1", "999999", "x"])
def test_a_change_of_an_unknown_sensor_is_404(analyst: httpx.Client, path: str) -> None:
    assert analyst.put(f"/api/v1/sensor/{path}", json={"notes": "x"}).status_code == 404


def test_roles_decide_who_may_change_what(
    server: Server, analyst: httpx.Client, open_client: httpx.Client
) -> None:
    here, _ = open_group(server, "orders here")
    there, _ = open_group(server, "orders there")
    sensor = enrol(open_client, "roles.example", secret_of(server, here))
    cases = [
        ({here: Role.VIEWER, there: Role.ANALYST}, {"notes": "a"}, 403),
        ({there: Role.ADMINISTRATOR}, {"notes": "a"}, 404),
        ({here: Role.ANALYST}, {"network_isolation_enabled": True}, 204),
        ({here: Role.ANALYST}, {"uninstall": True}, 403),
        ({here: Role.ANALYST}, {"uninstall": False, "group_id": here}, 204),
        ({here: Role.ADMINISTRATOR}, {"group_id": there}, 403),
        ({here: Role.ADMINISTRATOR, there: Role.ADMINISTRATOR}, {"group_id": there}, 204),
    ]
    for number, (roles, body, status) in enumerate(cases):
        token = hire(server, f"order-{number}", roles)
        with server.client(**{"X-Auth-Token": token}) as client:
            assert put(client, sensor, **body).status_code == status, (roles, body)
    assert record_of(analyst, sensor)["group_id"] == there
    assert sensor.check_in().status_code == 200


def test_an_isolation_has_a_reason_and_ends_by_itself(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    end = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    said = {"isolation_reason": "<b>beacon", "isolation_expires": end}
    assert put(analyst, sensor, network_isolation_enabled=True, **said).status_code == 204
    record = record_of(analyst, sensor)
    assert (record["isolation_reason"], record["isolation_by"]) == ("<b>beacon", "admin")
    assert record["isolation_expires"]
    assert put(analyst, sensor, isolation_expires="2020-01-01").status_code == 400
    assert put(analyst, sensor, isolation_reason="x" * 1_001).status_code == 400
    ended = wait_for(lambda: record_of(analyst, sensor)["network_isolation_enabled"], False, 40)
    assert ended is False
    assert record_of(analyst, sensor)["isolation_reason"] == ""


def test_a_release_forgets_why_the_host_was_isolated(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    put(analyst, sensor, network_isolation_enabled=True, isolation_reason="why")
    whole = record_of(analyst, sensor)
    assert put(analyst, sensor, **whole).status_code == 204
    assert record_of(analyst, sensor)["isolation_reason"] == "why"
    put(analyst, sensor, network_isolation_enabled=False)
    assert record_of(analyst, sensor)["isolation_reason"] == ""


def test_the_reason_of_each_order_is_in_the_audit_log(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    hostname = sensor.hostname
    orders: list[dict[str, Any]] = [
        {"network_isolation_enabled": True, "isolation_reason": "a worm"},
        {"network_isolation_enabled": False, "reason": "<b>cleaned"},
        {"restart_queued": True, "reason": "it hangs"},
        {"event_log_flush_time": FAR, "reason": "gaps"},
        {"uninstall": True, "reason": "retired"},
    ]
    for body in orders:
        assert put(analyst, sensor, **body).status_code == 204, body
    asked = {"target": hostname, "kind": "sensor", "rows": 100}
    entries = analyst.get("/api/v1/audit", params=asked).json()["results"]
    reasons = [one["after"]["reason"] for one in reversed(entries) if "reason" in one["after"]]
    assert reasons == ["<b>cleaned", "it hangs", "gaps", "retired"]


def test_a_reason_is_a_text_of_bounded_length_and_no_change_by_itself(
    analyst: httpx.Client, sensor: PlayedSensor
) -> None:
    for reason in ("x" * 1_001, 7, ["a"]):
        answer = put(analyst, sensor, restart_queued=True, reason=reason)
        assert answer.status_code == 400, reason
        assert "reason" in answer.json()["message"]
    assert record_of(analyst, sensor)["restart_queued"] is False
    assert put(analyst, sensor, reason="only that").status_code == 204
    body = {"ids": [sensor.id], "reason": "only that"}
    assert analyst.put("/api/v1/sensor", json=body).status_code == 400
