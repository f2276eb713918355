"""A server that has few file descriptors, or none left."""

import resource
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.fault.crash import forked
from tests.support.sensor import enrol, secret_of
from tests.support.served import Server, listening, wait_for
from tests.support.sysmon import story

DESCRIPTORS = 256
FLOOD = 400
"""More connections than there are descriptors."""


@contextmanager
def few_descriptors(data: Path) -> Iterator[tuple[Server, int]]:
    with forked(data, descriptors=DESCRIPTORS) as process:
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


@dataclass(frozen=True)
class Starved:
    """A server that cannot open anything more, and clients that were connected before."""

    server: Server
    analyst: httpx.Client
    sender: httpx.Client


@pytest.fixture
def starved(tmp_path: Path) -> Iterator[Starved]:
    with few_descriptors(tmp_path) as (server, pid):
        with server.client() as client:
            enrol(client, "before.example", secret_of(server))
        with server.sender() as sender, server.analyst() as analyst:
            assert sender.post("/api/v1/ingest", json=story("a.example").records).is_success
            assert analyst.get("/healthz").is_success
            before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_lowest_free(pid), before[1]))
            yield Starved(server, analyst, sender)
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


def test_without_any_descriptor_left_new_connections_are_answered_for_health_only(
    starved: Starved,
) -> None:
    for _ in range(3):
        with starved.server.client() as client:
            assert client.get("/healthz").status_code == 200
        with starved.server.analyst() as client:
            answer = client.get("/api/v1/process")
            assert (answer.status_code, answer.json()["reason"]) == (503, "unavailable")


def test_without_any_descriptor_left_nothing_is_500(starved: Starved) -> None:
    """The engine, SQLite, installers and pages all open files."""
    paths = (
        "/readyz",
        "/api/v1/process?q=hostname:a.example&facet=true",
        "/api/v1/process?q=cmdline:a*",
        "/api/v1/sensor",
        "/api/v2/partition",
        "/api/v1/group/1/installer/linux",
        "/docs",
        "/metrics",
        "/api/v1/binary",
    )
    statuses = [(path, starved.analyst.get(path).status_code) for path in paths]
    records = story("c.example").records
    statuses += [
        ("ingest", starved.sender.post("/api/v1/ingest", json=records).status_code)
        for _ in range(3)
    ]
    assert [one for one in statuses if one[1] >= 500 and one[1] != 503] == []
