"""Sensor-update jobs: what is refused, how devices move, what a job of 10,000 shows."""

import csv
import io
import time
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from tests.support.cloud import ORG, App, client_of, make_app
from tests.support.served import Server, blobs_of, hire, open_group, start_server, state_of
from vedette.model.principal import Role
from vedette.respond.package_files import add_sensor_package
from vedette.state.db.schema_updates import UPDATE_JOB
from vedette.state.sensors import enrolment

JOBS = f"/sus/v2/orgs/{ORG}/jobs"
VERSION = "9.1.0.4"
HOSTS = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start_server(tmp_path_factory.mktemp("updates"))
    found = next(running)
    kit = tmp_path_factory.mktemp("kit") / "kit.pyz"
    kit.write_bytes(b"a new sensor")
    with state_of(found) as database:
        add_sensor_package(database, blobs_of(found), kit, "linux", VERSION)
    yield found
    running.close()  # type: ignore[attr-defined]


class Host:
    """A simulated Linux sensor."""

    def __init__(self, server: Server, name: str, secret: str, version: str = "1.0.0.0") -> None:
        self.version = version
        host = {
            "hostname": name,
            "os_type": "linux",
            "machine_id": sha256(name.encode()).hexdigest()[:32],
            "os_version": "Ubuntu 24.04",
        }
        body = {"secret": secret, "sensor_version": version, "host": host}
        with server.client() as client:
            answer = client.post("/sensor/v1/enrol", json=body)
        assert answer.status_code == 200, answer.text
        made = answer.json()
        self.id = int(made["sensor_id"])
        self.client = server.client(Authorization=f"Sensor {self.id}:{made['key']}")

    def check_in(self, health: str = "Healthy") -> dict[str, Any]:
        now_us = time.time_ns() // 1_000
        body = {
            "sensor_id": self.id,
            "sensor_version": self.version,
            "clock_us": now_us,
            "health_status": 100,
            "health_message": health,
        }
        answer = self.client.post("/sensor/v1/checkin", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def enrolment_secret(server: Server, group_id: int = 1) -> str:
    with state_of(server) as database:
        return enrolment.current_secret(database, group_id)


@pytest.fixture(scope="module")
def hosts(server: Server) -> Iterator[list[Host]]:
    secret = enrolment_secret(server)
    made = [Host(server, f"up-{number}.example", secret) for number in range(HOSTS)]
    yield made
    for one in made:
        one.client.close()


@pytest.fixture(scope="module")
def updater(server: Server) -> App:
    return make_app(server, "updater", "org.kits:EXECUTE", "device:READ", kind="key")


@pytest.fixture(scope="module")
def client(server: Server, updater: App) -> Iterator[httpx.Client]:
    with client_of(server, updater) as found:
        yield found


def wanted(ids: list[int], **options: Any) -> dict[str, Any]:
    return {
        "action_type": "UPDATE_SENSOR_VERSION",
        "device_id": ids,
        "options": {"sensor_version": {"UBUNTU": VERSION}, **options},
    }


def created(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(JOBS, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["success"] is True
    return dict(answer.json()["job"])


def state_in(client: httpx.Client, job_id: str, host: Host) -> str:
    sensors = client.get(f"{JOBS}/{job_id}/sensors").json()
    return str(sensors[str(host.id)]["sensor_state"])


@pytest.mark.parametrize(
    "change",
    [
        {"action_type": "REMOVE"},
        {"action_type": None},
        {"device_id": None},
        {"device_id": []},
        {"device_id": list(range(1, 10_002))},
        {"device_id": ["x"]},
        {"search_definition": {}},
        {"options": None},
        {"options": {"sensor_version": {}}},
        {"options": {"sensor_version": {"AMIGA": VERSION}}},
        {"options": {"sensor_version": {"UBUNTU": "0.0.0.1"}}},
        {"options": {"sensor_version": {"WINDOWS": VERSION}}},
        {"options": {"sensor_version": {"UBUNTU": VERSION}, "waves": {"percent": 0}}},
        {"device_id": None, "search_definition": {"criteria": {"status": ["HAPPY"]}}},
        {"device_id": None, "search_definition": {"rows": 10_001}},
        *(
            {
                "device_id": None,
                "search_definition": {"criteria": {"last_contact_time": {"range": text}}},
            }
            for text in ("4h", "-1d", "3d", "1M", "2y", "", "1m ", 3, None, [])
        ),
        *(
            {"options": {"sensor_version": {"UBUNTU": text}}}
            for text in ("", "latest", "1", "1.2.3.4.5", "1..2", " 1.2.3.4", "1.2.3.4\n", 7, None)
        ),
    ],
    ids=str,
)
def test_a_job_that_cannot_be_understood_is_400(
    client: httpx.Client, hosts: list[Host], change: dict[str, Any]
) -> None:
    assert client.post(JOBS, json=wanted([hosts[0].id]) | change).status_code == 400


def test_statuses_of_callers(server: Server, hosts: list[Host], client: httpx.Client) -> None:
    job = created(client, wanted([hosts[0].id]))
    place = f"{JOBS}/{job['id']}"
    with server.client() as nobody:
        assert nobody.get(place).status_code == 401
        assert nobody.post(JOBS, json=wanted([hosts[0].id])).status_code == 401
    reader = make_app(server, "reads only", "device:read", kind="key")
    with client_of(server, reader) as one:
        assert one.get(place).status_code == 200
        assert one.get(JOBS).status_code == 200
        assert one.get(f"{place}/sensors").status_code == 200
        assert one.post(JOBS, json=wanted([hosts[0].id])).status_code == 403
        assert one.post(f"{place}/status", json={"status": "CANCELLED"}).status_code == 403
    kits = make_app(server, "kits only", "org.kits:execute", kind="key")
    with client_of(server, kits) as one:
        assert one.get(place).status_code == 403
        assert one.post(f"{place}/status", json={"status": "PAUSED"}).status_code == 400
        assert one.post(f"{place}/status", json={"status": "CANCELLED"}).status_code == 200
        assert one.post(f"{place}/status", json={"status": "CANCELLED"}).status_code == 400
    assert client.get(f"{JOBS}/nothing").status_code == 404
    assert client.get(f"{JOBS}/nothing/sensors").status_code == 404
    assert client.post(f"{JOBS}/nothing/status", json={"status": "CANCELLED"}).status_code == 404
    assert client.get(f"{JOBS}?job_type=OTHER").status_code == 400
    assert client.post(f"{JOBS}?job_type=OTHER", json=wanted([hosts[0].id])).status_code == 400
    assert client.post(f"{JOBS}?job_type=ENDPOINT", json=wanted([1])).status_code == 200
    assert client.get(JOBS.replace(ORG, "OTHER")).status_code == 404


def test_a_fault_of_the_server_is_500_without_detail(
    server: Server, client: httpx.Client, hosts: list[Host]
) -> None:
    job = created(client, wanted([hosts[0].id]))
    of_job = UPDATE_JOB.c.id == job["id"]
    with state_of(server) as database:
        with database.writing() as connection:
            kits = connection.scalar(select(UPDATE_JOB.c.kits).where(of_job))
            connection.execute(update(UPDATE_JOB).where(of_job).values(kits="damaged"))
        try:
            answer = client.get(f"{JOBS}/{job['id']}")
        finally:
            with database.writing() as connection:
                connection.execute(update(UPDATE_JOB).where(of_job).values(kits=kits))
    assert answer.status_code == 500
    assert "damaged" not in answer.text
    assert "Traceback" not in answer.text


def test_kits_of_every_type_are_checked(client: httpx.Client) -> None:
    """Which types there are, and that each needs the package of its operating system."""
    for kit_type in ("RHEL", "UBUNTU", "SUSE", "AMAZON_LINUX", "OTHER"):
        job = created(client, wanted([1], sensor_version={kit_type: VERSION}))
        assert job["sensor_versions"] == {kit_type: VERSION}
    for kit_type in ("XP", "WINDOWS", "MAC", "MAC_OSX"):
        answer = client.post(JOBS, json=wanted([1], sensor_version={kit_type: VERSION}))
        assert answer.status_code == 400
        assert kit_type in answer.json()["message"]


def test_devices_move_by_what_their_sensors_do(client: httpx.Client, hosts: list[Host]) -> None:
    host = hosts[1]
    job = created(client, wanted([host.id, 987_654]))
    assert (job["status"], job["job_type"], job["end_time"]) == ("IN_PROGRESS", "ENDPOINT", None)
    assert job["sensors"]["987654"]["reason"].startswith("NO_DATA_FOUND")
    first = job["sensors"][str(host.id)]
    assert first["hinted_time"] == "0001-01-01T00:00:00.000Z"
    assert (first["sensor_state"], first["sensor_kit_type"]) == ("NOT_HINTED", "UBUNTU")
    order = host.check_in()["update"]
    assert order["version"] == VERSION
    assert order["signature"]
    assert state_in(client, job["id"], host) == "HINTED"
    assert host.client.get(order["url_path"]).content == b"a new sensor"
    assert state_in(client, job["id"], host) == "DOWNLOADED"
    host.version = VERSION
    assert host.check_in()["update"] is None
    done = client.get(f"{JOBS}/{job['id']}").json()
    assert done["status"] == "COMPLETED"
    assert done["end_time"]
    sensor = done["sensors"][str(host.id)]
    assert (sensor["initial_version"], sensor["updated_version"]) == ("1.0.0.0", VERSION)
    (listed,) = [one for one in client.get(JOBS).json() if one["id"] == job["id"]]
    assert (listed["percent_complete"], listed["targeted"]) == (100, 2)
    assert (listed["updated"], listed["failed"]) == (1, 1)
    assert listed["updated_sensors"] == [host.id]
    assert listed["failed_sensors_per_reason"]["NO_DATA_FOUND"] == [987_654]


def test_a_kit_that_the_sensor_refuses_has_failed(client: httpx.Client, hosts: list[Host]) -> None:
    host = hosts[2]
    job = created(client, wanted([host.id]))
    host.check_in("update: UpdateError: an older refusal")
    assert state_in(client, job["id"], host) == "HINTED"
    host.check_in('update: UpdateError: =HYPERLINK("x"); other trouble')
    found = client.get(f"{JOBS}/{job['id']}").json()
    assert found["status"] == "COMPLETED"
    reason = found["sensors"][str(host.id)]["reason"]
    assert reason == 'UPDATE_REFUSED: =HYPERLINK("x")'


def test_a_cancelled_job_fails_those_that_wait(client: httpx.Client, hosts: list[Host]) -> None:
    job = created(client, wanted([hosts[3].id, hosts[4].id]))
    answer = client.post(f"{JOBS}/{job['id']}/status", json={"status": "CANCELLED"}).json()
    assert answer["success"] is True
    assert answer["job"]["status"] == "CANCELLED"
    assert answer["job"]["end_time"]
    assert all(
        one["sensor_state"] == "FAILED" and one["reason"].startswith("JOB_CANCELLED")
        for one in answer["job"]["sensors"].values()
    )
    assert hosts[3].check_in()["update"] is None


def test_waves_wait_for_each_other_and_stop_after_failures(
    client: httpx.Client, hosts: list[Host]
) -> None:
    pair = [hosts[3], hosts[4]]
    waves = {"percent": 50, "failures_max": 0}
    job = created(client, wanted([one.id for one in pair], waves=waves))
    assert pair[1].check_in()["update"] is None
    assert pair[0].check_in()["update"]["version"] == VERSION
    pair[0].check_in("update: UpdateError: no")
    assert client.get(f"{JOBS}/{job['id']}").json()["status"] == "CANCELLED"
    assert pair[1].check_in()["update"] is None


def test_the_devices_of_a_search_are_targeted(client: httpx.Client, hosts: list[Host]) -> None:
    definition = {
        "criteria": {"status": ["LIVE"], "last_contact_time": {"range": "1m"}},
        "query": "up-",
        "rows": 2,
        "sort": [{"field": "name", "order": "desc"}],
    }
    body = {
        "action_type": "UPDATE_SENSOR_VERSION",
        "search_definition": definition,
        "options": {"sensor_version": {"UBUNTU": VERSION}},
    }
    for host in hosts:
        host.check_in()
    job = created(client, body)
    assert set(job["sensors"]) == {str(hosts[4].id), str(hosts[3].id)}


def test_csv_has_its_columns_and_no_formulas(
    server: Server, client: httpx.Client, hosts: list[Host]
) -> None:
    job = created(client, wanted([hosts[0].id, 424_242]))
    answer = client.get(f"{JOBS}/{job['id']}/sensors?format=csv&download=true")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="sensors.csv"'
    lines = answer.text.split("\r\n")
    assert lines[0] == (
        "Device ID,Update Status,Failure Reason,Initial Device Version,"
        "Update Device Version,Initiated Update Time UTC,OS"
    )
    assert lines[1].startswith(f"{hosts[0].id},NOT_HINTED,,1.0.0.0,,,LINUX")
    exports = {"kind": "device export", "target": f"update job {job['id']}"}
    with server.analyst() as admin:
        assert admin.get("/api/v1/audit", params=exports).json()["total_results"] == 1
    plain = client.get(f"{JOBS}/{job['id']}/sensors")
    assert "content-disposition" not in plain.headers
    assert plain.headers["content-type"].startswith("application/json")
    assert client.get(f"{JOBS}/{job['id']}/sensors?format=xml").status_code == 400


def test_what_a_sensor_says_is_no_formula_in_csv(server: Server, client: httpx.Client) -> None:
    evil = Host(server, "evil.example", enrolment_secret(server), '=HYPERLINK("http://x","y")')
    job = created(client, wanted([evil.id]))
    place = f"{JOBS}/{job['id']}/sensors"
    (row,) = csv.DictReader(io.StringIO(client.get(f"{place}?format=csv").text))
    assert row["Initial Device Version"] == '\'=HYPERLINK("http://x","y")'
    assert client.get(place).json()[str(evil.id)]["initial_version"].startswith("=")
    evil.client.close()


def test_jobs_of_hidden_groups_are_not_there(
    server: Server, client: httpx.Client, hosts: list[Host]
) -> None:
    number, _ = open_group(server, "Far away")
    job = created(client, wanted([hosts[0].id]))
    both = ("org.kits:execute", "device:read")
    far = make_app(server, "far away", *both, groups=[number], kind="key")
    with client_of(server, far) as one:
        assert one.get(f"{JOBS}/{job['id']}").status_code == 404
        assert one.get(f"{JOBS}/{job['id']}/sensors").status_code == 404
        assert one.get(JOBS).json() == []
        cancel = one.post(f"{JOBS}/{job['id']}/status", json={"status": "CANCELLED"})
        assert cancel.status_code == 404
        assert one.post(JOBS, json=wanted([hosts[0].id])).status_code == 404


def test_the_pulse_has_the_jobs_that_run_for_the_devices_one_sees(
    server: Server, client: httpx.Client, hosts: list[Host]
) -> None:
    number, _ = open_group(server, "Farther away")
    job = created(client, wanted([one.id for one in hosts[:2]]))
    waiting = sum(one["sensor_state"] == "NOT_HINTED" for one in job["sensors"].values())
    numbers = {"id": job["id"], "targeted": 2, "waiting": waiting, "failed": 0}
    assert waiting > 0
    with server.analyst() as analyst:
        assert numbers in analyst.get("/api/v1/pulse").json()["jobs"]
    token = hire(server, "far-viewer", {number: Role.VIEWER})
    with server.client(**{"X-Auth-Token": token}) as viewer:
        assert viewer.get("/api/v1/pulse").json()["jobs"] == []
    client.post(f"{JOBS}/{job['id']}/status", json={"status": "CANCELLED"})
    with server.analyst() as analyst:
        running = analyst.get("/api/v1/pulse").json()["jobs"]
    assert job["id"] not in {one["id"] for one in running}


def test_a_job_and_its_cancellation_have_reasons_in_the_audit_log_and_versions_to_follow(
    server: Server, client: httpx.Client, hosts: list[Host]
) -> None:
    too_long = wanted([hosts[0].id]) | {"reason": "x" * 1_001}
    assert client.post(JOBS, json=too_long).status_code == 400
    job = created(client, wanted([hosts[0].id]) | {"reason": "<b>an old version"})
    with server.analyst() as analyst:

        def followed() -> dict[str, Any]:
            answer = analyst.get("/api/v1/pulse", params={"of": f"job:{job['id']}"})
            return dict(answer.json()["followed"][f"job:{job['id']}"])

        running = followed()
        assert not running["settled"]
        body = {"status": "CANCELLED", "reason": "wrong hosts"}
        assert client.post(f"{JOBS}/{job['id']}/status", json=body).status_code == 200
        ended = followed()
        assert ended["settled"]
        assert ended["version"] != running["version"]
        asked = {"kind": "sensor update job", "target": job["id"]}
        entries = analyst.get("/api/v1/audit", params=asked).json()["results"]
    assert [one["after"]["reason"] for one in entries] == ["wrong hosts", "<b>an old version"]
