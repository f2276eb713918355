"""Flows of cbapi's examples `tf`, `sensor_operations` and `binary_download`, and requests of the
Splunk SOAR connector, for a host known by its short and by its full name
(docs/clients.md#requests).

The examples are not installed with cbapi; each test makes their calls in their order.
"""

import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support.sensor import PlayedSensor, enrol, event, sending_secret
from tests.support.served import Server, wait_for
from tests.support.sysmon import Story, story
from vedette.clock import SystemClock

# cbapi 2.0 was written for older urllib3, attrdict and Python: what it warns of is its own.
pytestmark = [ONE_SERVER, pytest.mark.filterwarnings("ignore")]

FULL = "workstation5.theshire.local"
SHOWN = ["WORKSTATION5", "workstation5", FULL]
"""Names as records of sensors and processes show them: the list of sensors is case-sensitive."""
NAMES = [*SHOWN, FULL.upper()]
LINUX = "gateway7.theshire.local"
CONTENT = os.urandom(3_000)
MD5 = hashlib.md5(CONTENT).hexdigest()


@pytest.fixture(scope="module")
def tale(server: Server) -> Story:
    made = story(FULL)
    with server.sender() as client:
        assert client.post("/api/v1/ingest", json=made.records).status_code == 200
    return made


@pytest.fixture(scope="module")
def played(server: Server) -> Iterator[PlayedSensor]:
    """An enrolled sensor that sent a copy of a program that it saw run."""
    with server.client() as client:
        sensor = enrol(client, LINUX, sending_secret(server))
        hashes = {"md5": MD5, "sha256": hashlib.sha256(CONTENT).hexdigest()}
        now_us = SystemClock().now_us()
        sensor.send([event("start", now_us, 5, now_us, path="/opt/tool", cmdline="tool", **hashes)])
        sensor.post(
            "binaries/offer", {"files": [{**hashes, "size": len(CONTENT), "path": "/opt/tool"}]}
        )
        path = f"/sensor/v1/binaries/{hashes['sha256']}?offset=0"
        assert client.put(path, content=CONTENT, headers=sensor.headers).status_code == 200
        yield sensor


@pytest.fixture
def soar(server: Server) -> Iterator[httpx.Client]:
    with server.analyst() as client:
        yield client


@pytest.mark.parametrize("name", NAMES)
def test_tf_counts_the_children_of_a_program_and_shows_them(
    cb: Any, tale: Story, name: str
) -> None:
    from cbapi.response import Process

    asked = f"parent_name:winword.exe hostname:{name}"
    facets = cb.select(Process).where(asked).facets("process_name")
    (term,) = reversed(facets["process_name"])
    assert (term["name"].lower(), term["value"]) == ("powershell.exe", 1)
    assert int(float(term["ratio"])) == 100
    (child,) = cb.select(Process).where(f"{asked} process_name:{term['name']}")
    assert (child.hostname, child.parent_name.lower()) == (FULL, "winword.exe")
    assert child.cmdline


@pytest.mark.parametrize("name", SHOWN)
def test_sensor_operations_reach_the_host_by_its_name(cb: Any, tale: Story, name: str) -> None:
    from cbapi.response import Process, Sensor

    found = list(cb.select(Sensor).where(f"hostname:{name}"))
    assert [one.computer_dns_name for one in found] == [FULL]
    assert len(cb.select(Process).where(f"hostname:{found[0].computer_name}")) == 4


@pytest.mark.parametrize("name", ["gateway7", LINUX])
def test_sensor_operations_order_and_see_the_order(
    cb: Any, played: PlayedSensor, name: str
) -> None:
    from cbapi.response import Sensor

    (sensor,) = cb.select(Sensor).where(f"hostname:{name}")
    for wanted in (True, False):
        sensor.network_isolation_enabled = wanted
        sensor.save()
        played.obey()
        sensor.refresh()
        assert sensor.network_isolation_enabled is wanted
    sensor.flush_events()
    assert played.check_in().json()["flush_before_us"]
    sensor.restart_sensor()
    assert cb.select(Sensor, sensor.id, force_init=True).restart_queued


@pytest.mark.parametrize("name", ["gateway7", LINUX])
def test_binary_download_saves_the_file_of_a_process(
    cb: Any, played: PlayedSensor, name: str
) -> None:
    from cbapi.response import Binary, Process

    (process,) = cb.select(Process).where(f"hostname:{name} process_name:tool")
    binary = cb.select(Binary, process.process_md5)
    saved = io.BytesIO()
    shutil.copyfileobj(binary.file, saved)
    assert hashlib.md5(saved.getvalue()).hexdigest() == MD5
    assert binary.md5.lower() == MD5


@pytest.mark.parametrize("name", SHOWN)
def test_soar_lists_the_connections_of_a_host(soar: httpx.Client, tale: Story, name: str) -> None:
    (endpoint,) = soar.get("/api/v1/sensor", params={"hostname": name}).json()
    asked = {"cb.q.process_name": "powershell.exe", "cb.q.hostname": endpoint["computer_name"]}
    total = soar.get("/api/v1/process", params=asked | {"rows": 0}).json()["total_results"]
    rows = soar.get("/api/v1/process", params=asked | {"rows": total}).json()["results"]
    assert total == len(rows) == 1
    path = f"/api/v1/process/{rows[0]['id']}/{rows[0]['segment_id']}/event"
    found = soar.get(path, params={"cb.legacy_5x_mode": "False"}).json()["process"]
    assert (found["process_name"].lower(), found["hostname"]) == ("powershell.exe", FULL)
    assert found["process_pid"]
    for connection in found["netconn_complete"]:
        assert len(connection.split("|")) >= 6
    assert len(found["netconn_complete"]) == rows[0]["netconn_count"] >= 1


@pytest.mark.parametrize("name", ["gateway7", LINUX])
def test_soar_quarantines_a_host_and_reads_it_back(
    soar: httpx.Client, played: PlayedSensor, name: str
) -> None:
    (endpoint,) = soar.get("/api/v1/sensor", params={"hostname": name}).json()
    for wanted in (True, False):
        body = {"network_isolation_enabled": wanted, "group_id": 1}
        path = f"/api/v1/sensor/{endpoint['id']}"
        answer = soar.put(path, params={"hostname": name}, json=body)
        assert answer.status_code in (200, 204)
        assert soar.get(path).json()["network_isolation_enabled"] is wanted
    late = {"event_log_flush_time": "Wed, 01 Jan 2020 00:00:00 GMT", "group_id": 1}
    assert soar.put(f"/api/v1/sensor/{endpoint['id']}", json=late).status_code in (200, 204)


@pytest.mark.parametrize("name", NAMES)
def test_soar_hunts_with_bodies_of_scalars_and_lists(
    soar: httpx.Client, tale: Story, name: str
) -> None:
    body = {
        "params": "server_added_timestamp desc",
        "start": 0,
        "rows": 10,
        "facet": ["true", "true"],
        "cb.urlver": ["1"],
        "q": [f"process_name:powershell.exe hostname:{name}"],
    }
    found = soar.post("/api/v1/process", json=body).json()
    assert found["total_results"] == 1
    md5 = found["results"][0]["process_md5"]
    binaries = soar.post("/api/v1/binary", json=body | {"q": [f"md5:{md5}"]}).json()
    assert binaries["total_results"] == 1


def test_soar_gets_a_file(soar: httpx.Client, played: PlayedSensor) -> None:
    known = wait_for(lambda: soar.get(f"/api/v1/binary/{MD5}/summary").status_code, 200)
    assert known == 200
    with zipfile.ZipFile(io.BytesIO(soar.get(f"/api/v1/binary/{MD5}").content)) as archive:
        assert archive.read("filedata") == CONTENT
    assert soar.get(f"/api/v1/binary/{'0' * 32}/summary").status_code == 404


def test_soar_blocks_and_unblocks_a_hash(soar: httpx.Client) -> None:
    body = {"md5hash": "5a" * 16, "text": "from a playbook"}
    assert soar.post("/api/v1/banning/blacklist", json=body).status_code == 200
    assert soar.post("/api/v1/banning/blacklist", json=body).status_code == 409
    assert soar.delete(f"/api/v1/banning/blacklist/{body['md5hash']}").status_code == 200


def test_soar_connects(soar: httpx.Client) -> None:
    assert soar.get("/api/info").json()["version"]
