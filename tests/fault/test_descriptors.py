"""A server that has few file descriptors, or none left."""

import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.fault.crash import launched
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, listening, wait_for
from tests.support.sysmon import story

DESCRIPTORS = 256
FLOOD = 400
"""More connections than there are descriptors."""


@contextmanager
def few_descriptors(data: Path) -> Iterator[tuple[Server, int]]:
    with launched(data, descriptors=DESCRIPTORS) as process:
        yield listening(data, process), process.pid
        assert process.poll() is None


def plain(server: Server) -> socket.socket:
    where = urlsplit(server.url)
    return socket.create_connection((where.hostname or "", where.port or 0), timeout=10)


def test_floods_of_connections_leave_health_and_check_ins_their_reserve(tmp_path: Path) -> None:
    with few_descriptors(tmp_path) as (server, _), ExitStack() as held:
        context = ssl.create_default_context(cafile=str(server.certificate))
        with server.client() as client:
            sensor = enrol(client, "reserved.example", secret_of(server))
        for number in range(FLOOD):
            one = held.enter_context(plain(server))
            if number % 2:  # every other completes its handshake, and sends half a head
                try:
                    one = held.enter_context(context.wrap_socket(one, server_hostname="127.0.0.1"))
                    one.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n")
                except OSError:
                    continue
        for _ in range(5):
            with server.client() as client:
                assert client.get("/healthz").status_code == 200
            with server.client() as client:
                sensor.client = client
                assert sensor.check_in().status_code == 200
            with server.analyst() as client:
                assert client.get("/api/v1/process").status_code == 503


def test_handshakes_that_never_complete_keep_nobody_out(tmp_path: Path) -> None:
    with few_descriptors(tmp_path) as (server, pid), ExitStack() as held:
        for _ in range(FLOOD):
            held.enter_context(plain(server))
        with server.analyst() as client:
            assert client.get("/api/v1/process").status_code == 200
        sockets = [
            one for one in Path(f"/proc/{pid}/fd").iterdir() if "socket:" in str(_target(one))
        ]
        assert len(sockets) < DESCRIPTORS // 2


def _target(link: Path) -> Path:
    try:
        return link.readlink()
    except OSError:
        return Path()


@pytest.fixture
def starved(tmp_path: Path) -> Iterator[Server]:
    """A server that cannot open anything more: its limit is below what it has open."""
    with few_descriptors(tmp_path) as (server, pid):
        with server.sender() as client:
            assert client.post("/api/v1/ingest", json=story("a.example").records).is_success
        with server.client() as client:
            enrol(client, "before.example", secret_of(server))
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (_lowest_free(pid), before[1]))
        yield server
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        _works_again(server)


def _lowest_free(pid: int) -> int:
    used = {int(one.name) for one in Path(f"/proc/{pid}/fd").iterdir()}
    return min(set(range(DESCRIPTORS)) - used)


def _works_again(server: Server) -> None:
    records = story("b.example").records

    def stored() -> bool:
        with server.sender() as client:
            return client.post("/api/v1/ingest", json=records).is_success

    assert wait_for(stored, True)
    with server.analyst() as client:
        assert client.get("/readyz").status_code == 200
        answer = client.get("/api/v1/process", params={"q": "hostname:b.example"})
        assert answer.json()["total_results"] > 0


def test_without_any_descriptor_left_health_is_answered_and_nothing_is_500(
    starved: Server,
) -> None:
    statuses: set[int] = set()
    for _ in range(3):
        with starved.client() as client:
            assert client.get("/healthz").status_code == 200
        with starved.analyst() as client:
            for path in ("/readyz", "/api/v1/process", "/api/v1/sensor", "/metrics"):
                try:
                    statuses.add(client.get(path, timeout=10).status_code)
                except httpx.HTTPError:
                    time.sleep(0.1)
    assert statuses <= {200, 503}
