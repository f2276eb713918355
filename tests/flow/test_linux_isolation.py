"""Isolation of a host that is a network namespace: its connections are cut, the server's stay."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.linux_network import Cable, cable
from tests.support.linux_sensor import (
    TIMEOUT_S,
    Sensor,
    launch,
    missing_privilege,
    program,
    write_settings,
)
from tests.support.served import Server, start_server, wait_for

pytestmark = [
    pytest.mark.skipif(bool(missing_privilege()), reason=missing_privilege() or "-"),
    pytest.mark.xdist_group("audit"),
]
_TALK = """
import socket, sys
peer = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
peer.settimeout(5)
for line in sys.stdin:
    try:
        peer.sendall(b"x")
        print("echoed" if peer.recv(1) else "closed", flush=True)
    except OSError as error:
        print("cut", flush=True)
"""


@pytest.fixture
def host() -> Iterator[Cable]:
    program("nft")
    with cable() as made:
        yield made


@pytest.fixture
def near_server(host: Cable, tmp_path: Path) -> Iterator[Server]:
    """A server that listens on the cable; its certificate is pinned by its fingerprint."""
    data = tmp_path / "server"
    data.mkdir()
    yield from start_server(data, "--host", host.outside[0], "--set", "checkin_interval_s=5")


@pytest.fixture
def echo(host: Cable) -> Iterator[int]:
    """A server of somebody else on the cable: the port on which it repeats what it receives."""
    import threading

    listener = socket.create_server((host.outside[1], 0))

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_repeat, args=(peer,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def _repeat(peer: socket.socket) -> None:
    with peer:
        while received := peer.recv(1):
            peer.sendall(received)


def _fingerprint(server: Server) -> str:
    from hashlib import sha256
    from ssl import PEM_cert_to_DER_cert

    return sha256(PEM_cert_to_DER_cert(server.certificate.read_text())).hexdigest()


def _client(server: Server) -> httpx.Client:
    return httpx.Client(
        base_url=server.url, headers={"X-Auth-Token": server.token}, verify=False, timeout=60
    )


class _Talk:
    """A connection from inside to the other server, kept open."""

    def __init__(self, host: Cable, port: int) -> None:
        self._process = subprocess.Popen(
            [*host.enter, sys.executable, "-c", _TALK, host.outside[1], str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def exchange(self) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # it could not connect
            return "cut"
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()  # closes the pipes


def _sensor(server: Server, host: Cable, folder: Path) -> Sensor:
    folder.mkdir(exist_ok=True)
    write_settings(
        server,
        folder,
        "isolated.example",
        ca_pem_file="",
        server_fingerprint=_fingerprint(server),
        audit="off",
        mounts=folder,
    )
    return launch(server, folder, "isolated.example", *host.enter)


def _state(client: httpx.Client, sensor_id: int) -> tuple[bool, bool]:
    record: dict[str, Any] = client.get(f"/api/v1/sensor/{sensor_id}").json()
    return record["network_isolation_enabled"], record["is_isolating"]


def _order(client: httpx.Client, sensor_id: int, *, isolate: bool) -> None:
    answer = client.put(f"/api/v1/sensor/{sensor_id}", json={"network_isolation_enabled": isolate})
    assert answer.status_code in {200, 204}, answer.text


@pytest.mark.filterwarnings("ignore:Unverified HTTPS")
def test_isolation_cuts_connections_and_leaves_the_servers(
    host: Cable, near_server: Server, echo: int, tmp_path: Path
) -> None:
    talk = _Talk(host, echo)
    sensor = _sensor(near_server, host, tmp_path / "s")
    with _client(near_server) as client:
        try:
            assert talk.exchange() == "echoed"
            number = sensor.record(client)["id"]
            _order(client, number, isolate=True)
            isolated = wait_for(lambda: _state(client, number), (True, True), TIMEOUT_S)
            assert isolated == (True, True), sensor.log
            assert talk.exchange() == "cut", "a connection that was there before"
            assert _is_cut(host, echo), "a new one"
            sensor.stop()
            sensor = _sensor(near_server, host, tmp_path / "s")
            wait_for(lambda: _is_cut(host, echo), True, TIMEOUT_S)
            assert _is_cut(host, echo), "after a restart of the sensor"
            _order(client, number, isolate=False)
            assert wait_for(lambda: _state(client, number), (False, False), TIMEOUT_S) == (
                False,
                False,
            )
            assert not _is_cut(host, echo)
        finally:
            talk.close()
            sensor.stop()
            print(sensor.log)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS")
def test_isolation_holds_with_an_exclusion_without_a_port_and_after_the_table_is_deleted(
    host: Cable, near_server: Server, echo: int, tmp_path: Path
) -> None:
    sensor = _sensor(near_server, host, tmp_path / "s")
    with _client(near_server) as client:
        try:
            number = sensor.record(client)["id"]
            exclusions = [{"name": "x", "ip_address": "192.0.2.9", "enabled": True}]
            changed = client.put("/api/v3/group/1", json={"isolation_exclusions": exclusions})
            assert changed.status_code in {200, 204}, changed.text
            _order(client, number, isolate=True)
            assert wait_for(lambda: _state(client, number), (True, True), TIMEOUT_S)
            assert wait_for(lambda: _is_cut(host, echo), True, TIMEOUT_S)
            delete = [program("nft"), "delete", "table", "inet", "vedette_sensor"]
            subprocess.run([*host.enter, *delete], check=True)
            assert wait_for(lambda: _is_cut(host, echo), True, TIMEOUT_S)
            found_events = wait_for(
                lambda: "loaded again" in _health(client, number), True, TIMEOUT_S
            )
            assert found_events, _health(client, number)
            _order(client, number, isolate=False)
            assert wait_for(lambda: _state(client, number), (False, False), TIMEOUT_S)
        finally:
            sensor.stop()
            print(sensor.log)


def _health(client: httpx.Client, sensor_id: int) -> str:
    return str(client.get(f"/api/v1/sensor/{sensor_id}").json()["sensor_health_message"])


def _is_cut(host: Cable, port: int) -> bool:
    talk = _Talk(host, port)
    try:
        return talk.exchange() != "echoed"
    finally:
        talk.close()
        time.sleep(0.2)
