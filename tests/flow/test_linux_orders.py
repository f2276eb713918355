"""Orders that a real Linux sensor carries out: flush, restart, filters, update, uninstall. The
program runs from one file (a zip), as installers bring it. As root."""

import hashlib
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.archives import unpack
from tests.support.cloud import ORG
from tests.support.linux_sensor import (
    ROOT,
    TIMEOUT_S,
    Sensor,
    as_user,
    audit_state,
    found,
    launch,
    missing_privilege,
    wait_until_found,
    write_settings,
)
from tests.support.linux_server import PlayedServer, Signer, played_server
from tests.support.served import Server, blobs_of, state_of, wait_for
from vedette.respond.package_files import add_sensor_package
from vedette.state.sensors.sensor_packages import withdraw

pytestmark = [
    pytest.mark.skipif(bool(missing_privilege()), reason=missing_privilege() or "-"),
    pytest.mark.xdist_group("audit"),
]
_STARTER = "import sys\nfrom vedette.sensor.__main__ import main\nsys.exit(main(sys.argv[1:]))\n"


def pack(target: Path, version: str = "") -> Path:
    """The sensor as one file; `version` in place of its own."""
    package = ROOT / "vedette" / "sensor"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("__main__.py", _STARTER)
        archive.writestr("vedette/__init__.py", "")
        for path in sorted(package.rglob("*.py")):
            text = path.read_text()
            if version and path == package / "__init__.py":
                text = text.replace('SENSOR_VERSION = "1.0.0"', f'SENSOR_VERSION = "{version}"')
            archive.writestr(f"vedette/sensor/{path.relative_to(package)}", text)
    return target


@pytest.fixture
def sensor(
    fast_server: Server, tmp_path: Path, room: Path, request: pytest.FixtureRequest
) -> Iterator[Sensor]:
    name = f"{request.node.name}.example".replace("_", "-")
    folder = tmp_path / "s"
    program = pack(folder / "program" / "vedette-sensor.pyz")
    write_settings(fast_server, folder, name, mounts=room)
    started = launch(fast_server, folder, name, command=[sys.executable, "-I", str(program)])
    try:
        wait_for(lambda: "missing:" in started.log, True, TIMEOUT_S)
        yield started
    finally:
        if started.process.poll() is None:
            started.stop()
        print(started.log)


def _put(client: httpx.Client, sensor: Sensor, **members: Any) -> int:
    number: int = sensor.record(client)["id"]
    answer = client.put(f"/api/v1/sensor/{number}", json=members)
    assert answer.status_code in {200, 204}, answer.text
    return number


def _record(client: httpx.Client, number: int) -> dict[str, Any]:
    return dict(client.get(f"/api/v1/sensor/{number}").json())


def test_a_flush_is_done_and_clears_itself(
    client: httpx.Client, sensor: Sensor, room: Path
) -> None:
    number = sensor.record(client)["id"]
    as_user("/bin/true before-the-flush; exit 0", room)
    _put(client, sensor, event_log_flush_time="Sat, 20 Nov 2027 13:24:20 GMT")
    cleared = wait_for(lambda: _record(client, number)["event_log_flush_time"], None, TIMEOUT_S)
    assert cleared is None
    query = f'hostname:{sensor.hostname} process_name:true cmdline:"before-the-flush"'
    assert client.get("/api/v1/process", params={"q": query}).json()["total_results"] == 1


def test_a_restart_is_done_once_and_reported(client: httpx.Client, sensor: Sensor) -> None:
    pid = sensor.process.pid
    number = _put(client, sensor, restart_queued=True)
    assert wait_for(lambda: sensor.log.count("missing:"), 2, TIMEOUT_S) == 2
    assert wait_for(lambda: _record(client, number)["restart_queued"], False, TIMEOUT_S) is False
    time.sleep(6)
    assert sensor.log.count("missing:") == 2
    assert sensor.process.poll() is None
    assert audit_state()[0]["pid"] == pid


def test_an_uninstall_leaves_nothing_behind(client: httpx.Client, sensor: Sensor) -> None:
    number = _put(client, sensor, uninstall=True)
    assert sensor.process.wait(TIMEOUT_S) == 76
    assert _record(client, number)["uninstalled"] is True
    assert not (sensor.folder / "program").exists()
    assert not (sensor.folder / "data").exists()
    assert not (sensor.folder / "sensorsettings.ini").exists()
    assert audit_state()[0]["pid"] == 0


def test_filters_for_the_sensor_drop_processes_and_their_children(
    client: httpx.Client, sensor: Sensor, room: Path
) -> None:
    wanted = {
        "id": "quiet",
        "name": "quiet",
        "path_filters": ["*/BASH"],
        "cmdline_filters": ["quiet-one"],
        "descendant_filtering_level": 1,
        "filter_on_sensor": True,
    }
    made = client.post("/api/v1/ingress_approvedlist", json=[wanted])
    assert made.status_code == 200, made.text
    kept = sensor.folder / "data" / "filters.json"
    assert wait_for(lambda: kept.exists() and b"quiet" in kept.read_bytes(), True, TIMEOUT_S)
    as_user(": quiet-one; /bin/true quiet-child; exit 0", room)
    as_user(": loud-one; /bin/true loud-child; exit 0", room)
    host = f"hostname:{sensor.hostname}"
    assert wait_until_found(client, f'{host} cmdline:"loud-child" process_name:true')
    assert found(client, f'{host} cmdline:"quiet-child"') == 0


@contextmanager
def _updating(folder: Path, room: Path, signer: Signer) -> Iterator[tuple[PlayedServer, Sensor]]:
    """A sensor of version 1.0.0 in one file, and the server that it asks."""
    (folder / "s").mkdir()
    with played_server(folder / "played") as played:
        played.enrol_answers = [(200, {"update_public_key": signer.public_text})]
        program = pack(folder / "s" / "program" / "vedette-sensor.pyz")
        write_settings(
            played.server,
            folder / "s",
            "updated.example",
            group_secret="s",
            audit="off",
            mounts=room,
        )
        command = [sys.executable, "-I", str(program)]
        sensor = launch(played.server, folder / "s", "updated.example", command=command)
        try:
            assert wait_for(lambda: bool(played.check_ins), True, TIMEOUT_S), sensor.log
            yield played, sensor
        finally:
            sensor.stop()
            print(sensor.log)


def test_an_update_is_fetched_checked_and_started(tmp_path: Path, room: Path) -> None:
    content = pack(tmp_path / "newer.pyz", "1.0.1").read_bytes()
    signer = Signer()
    with _updating(tmp_path, room, signer) as (played, sensor):
        played.offer(signer.order(content, "1.0.1"), content)
        started = wait_for(lambda: "version 1.0.1" in sensor.log, True, TIMEOUT_S)
        assert started, played.health()
        wait_for(lambda: played.check_ins[-1]["sensor_version"], "1.0.1", TIMEOUT_S)
        assert played.check_ins[-1]["sensor_version"] == "1.0.1"
        assert (sensor.folder / "program" / "vedette-sensor.pyz").read_bytes() == content
        played.offer(signer.order(b"an old one", "1.0.0"), b"an old one")
        wait_for(lambda: "1.0.0 is not newer than 1.0.1" in played.health(), True, TIMEOUT_S)
        assert "1.0.0 is not newer than 1.0.1" in played.health()


def test_an_update_that_was_not_signed_for_this_file_is_refused_and_reported(
    tmp_path: Path, room: Path
) -> None:
    content = pack(tmp_path / "newer.pyz", "1.0.1").read_bytes()
    signer = Signer()
    good = signer.order(content, "1.0.1")
    attempts = [
        ({**good, "signature": None}, content, "not signed"),
        (Signer().order(content, "1.0.1"), content, "does not fit"),
        ({**good, "version": "1.0.2"}, content, "does not fit"),
        (signer.order(content, "1.0.3"), content, "not 1.0.3"),
        (good, content + b"more", "another hash"),
    ]
    with _updating(tmp_path, room, signer) as (played, sensor):
        before = (sensor.folder / "program" / "vedette-sensor.pyz").read_bytes()
        for order, fetched, reason in attempts:
            played.offer(order, fetched)
            wait_for(lambda reason=reason: reason in played.health(), True, TIMEOUT_S)
            assert reason in played.health()
        count = len(played.check_ins)
        wait_for(lambda: len(played.check_ins) > count + 2, True, TIMEOUT_S)
        assert len(played.fetched) == 2, "what was refused is not fetched again"
        assert (sensor.folder / "program" / "vedette-sensor.pyz").read_bytes() == before
        assert sensor.log.count("version 1.0.0") == 1


def test_an_update_that_the_server_signed_is_installed(
    client: httpx.Client, fast_server: Server, sensor: Sensor, tmp_path: Path
) -> None:
    newer = pack(tmp_path / "newer.pyz", "1.0.1")
    number = sensor.record(client)["id"]
    content = newer.read_bytes()
    with state_of(fast_server) as database:
        package = add_sensor_package(database, blobs_of(fast_server), newer, "linux", "1.0.1")
    assert package.sha256 == hashlib.sha256(content).hexdigest()
    client.put("/api/v1/group/1", json={"sensor_version_linux": "1.0.1"})
    try:
        updated = wait_for(lambda: "version 1.0.1" in sensor.log, True, TIMEOUT_S)
        assert updated, _record(client, number)["sensor_health_message"]
    finally:
        with state_of(fast_server) as database:
            withdraw(database, "linux")
        client.put("/api/v1/group/1", json={"sensor_version_linux": "Manual"})
    program = sensor.folder / "program" / "vedette-sensor.pyz"
    assert program.read_bytes() == content


def test_an_update_job_of_the_cloud_side_runs_to_its_end(
    client: httpx.Client, fast_server: Server, sensor: Sensor, tmp_path: Path
) -> None:
    newer = pack(tmp_path / "newer.pyz", "1.0.1")
    number = sensor.record(client)["id"]
    jobs = f"/sus/v2/orgs/{ORG}/jobs"
    with state_of(fast_server) as database:
        add_sensor_package(database, blobs_of(fast_server), newer, "linux", "1.0.1")
    kits = ("UBUNTU", "RHEL", "SUSE", "AMAZON_LINUX", "OTHER")
    body = {
        "action_type": "UPDATE_SENSOR_VERSION",
        "device_id": [number],
        "options": {"sensor_version": dict.fromkeys(kits, "1.0.1")},
    }
    try:
        answer = client.post(jobs, json=body)
        assert answer.status_code == 200, answer.text
        place = f"{jobs}/{answer.json()['job']['id']}"
        wait_for(lambda: client.get(place).json()["status"], "COMPLETED", TIMEOUT_S)
        job = client.get(place).json()
    finally:
        with state_of(fast_server) as database:
            withdraw(database, "linux")
    assert job["status"] == "COMPLETED"
    target = job["sensors"][str(number)]
    assert (target["sensor_state"], target["updated_version"]) == ("UPDATED", "1.0.1")
    program = sensor.folder / "program" / "vedette-sensor.pyz"
    assert program.read_bytes() == newer.read_bytes()


def test_what_the_installer_of_a_group_brings_runs(
    client: httpx.Client, tmp_path: Path, fast_server: Server, room: Path
) -> None:
    answer = client.get("/api/v1/group/1/installer/linux")
    assert answer.status_code == 200, answer.text
    unpack(answer.content, tmp_path)
    folder = tmp_path / "vedette-sensor"
    settings = folder / "sensorsettings.ini"
    more = f"mounts = {room}\nhostname = by-archive.example\naudit_uid = 51234\n"
    text = settings.read_text().replace("/var/lib/vedette-sensor", str(folder / "data")) + more
    settings.write_text(text)
    command = [sys.executable, "-I", str(folder / "vedette-sensor.pyz")]
    sensor = launch(fast_server, folder, "by-archive.example", command=command)
    try:
        record = sensor.record(client)
        assert (record["group_id"], record["status"]) == (1, "Online")
    finally:
        assert sensor.stop() == 0, sensor.log


def test_the_zip_runs_by_itself(tmp_path: Path) -> None:
    program = pack(tmp_path / "x" / "vedette-sensor.pyz")
    command = [sys.executable, "-I", str(program), "version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=True)
    assert done.stdout == "1.0.0\n"
