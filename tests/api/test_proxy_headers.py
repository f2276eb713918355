"""Balancers before the server: what they say of where a connection comes from, and who is believed.

127.0.0.2 is the address of a proxy whose connections begin with a PROXY header, 127.0.0.3 that of
one which is not trusted.
"""

import ipaddress
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.dropping_proxy import dropping_proxy
from tests.support.sensor import enrol, secret_of, session
from tests.support.served import Server, start_server, wait_for

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
PROXY, OTHER = "127.0.0.2", "127.0.0.3"
BROKEN = {
    "none": b"",
    "version 1": b"PROXY TCP4 192.0.2.9 192.0.2.1 4711 443\r\n",
    "another version": SIGNATURE + bytes([0x11, 0x11, 0, 12]) + bytes(12),
    "an unknown command": SIGNATURE + bytes([0x22, 0x11, 0, 12]) + bytes(12),
    "addresses that are too short": SIGNATURE + bytes([0x21, 0x11, 0, 4]) + bytes(4),
    "a length beyond all": SIGNATURE + bytes([0x21, 0x11, 0xFF, 0xFF]) + bytes(12),
    "a signature that is not one": b"\r\n\r\n\0\r\nQUIT " + bytes([0x21, 0x11, 0, 12]) + bytes(12),
}


def header(source: str, command: int = 0x21, more: bytes = b"") -> bytes:
    """A PROXY header, version 2, of a connection from an address."""
    address = ipaddress.ip_address(source)
    family = 0x11 if address.version == 4 else 0x21
    rest = address.packed * 2 + (4711).to_bytes(2, "big") + (443).to_bytes(2, "big") + more
    return SIGNATURE + bytes([command, family]) + len(rest).to_bytes(2, "big") + rest


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    flags = ("--set", f"trusted_proxies={PROXY}", "--set", "proxy_protocol=true")
    yield from start_server(tmp_path_factory.mktemp("proxied"), *flags)


@contextmanager
def behind(server: Server, *pieces: bytes, address: str = PROXY) -> Iterator[Server]:
    """The server as it is reached through a proxy that sends these pieces first."""
    with dropping_proxy(urlsplit(server.url).port or 0, address, pieces) as proxy:
        yield replace(server, url=f"https://127.0.0.1:{proxy.port}")


def address_seen(server: Server, **headers: str) -> str:
    with server.client(**headers, **{"X-Auth-Token": server.token}) as client:
        answer = client.get("/api/v1/approvedlist/locked_out")
        return str(answer.raise_for_status().json()["caller"]["address"])


@pytest.mark.parametrize("source", ["192.0.2.9", "2001:db8::9"])
def test_a_caller_has_the_address_that_the_proxy_says(own: Server, source: str) -> None:
    whole = header(source)
    with behind(own, whole) as proxied:
        assert address_seen(proxied) == source
    with behind(own, *(whole[n : n + 1] for n in range(len(whole)))) as proxied:
        assert address_seen(proxied) == source
    with behind(own, header(source, more=b"\x04\0\x64" + bytes(100))) as proxied:
        assert address_seen(proxied) == source


def test_a_header_of_the_request_is_not_believed_of_a_client_of_the_proxy(own: Server) -> None:
    with behind(own, header("192.0.2.9")) as proxied:
        assert address_seen(proxied, **{"X-Forwarded-For": "198.51.100.1"}) == "192.0.2.9"


def test_the_proxys_own_connections_come_from_the_proxy(own: Server) -> None:
    with behind(own, header("192.0.2.9", command=0x20)) as proxied:
        assert address_seen(proxied) == PROXY
    with behind(own, SIGNATURE + bytes([0x20, 0, 0, 0])) as proxied:
        assert address_seen(proxied) == PROXY


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_proxy_without_a_header_that_can_be_read_gets_no_answer(
    own: Server, broken: bytes
) -> None:
    with behind(own, broken) as proxied, pytest.raises(httpx.TransportError):
        address_seen(proxied)
    assert address_seen(own) == "127.0.0.1"


def test_nobody_else_can_say_where_they_come_from(own: Server) -> None:
    with behind(own, address=OTHER) as direct:
        assert address_seen(direct) == OTHER
    lied = header("192.0.2.9")
    with behind(own, lied, address=OTHER) as lying, pytest.raises(httpx.TransportError):
        address_seen(lying)


def test_guesses_of_one_client_of_the_proxy_lock_no_other_out(own: Server) -> None:
    def guess(server: Server) -> int:
        with server.client() as client:
            body = {"username": "admin", "password": "a wrong password"}
            return client.post("/api/v1/session", json=body).status_code

    with behind(own, header("192.0.2.66")) as guessing, behind(own, header("192.0.2.7")) as other:
        assert [guess(guessing) for _ in range(10)][-1] == 429
        assert guess(other) == 401


def test_hosts_behind_a_balancer_have_addresses_of_their_own(own: Server) -> None:
    name = "behind.corp.example"
    with behind(own, header("192.0.2.77")) as proxied, proxied.client() as client:
        sensor = enrol(client, name, secret_of(own), machine_id="behind")
        assert sensor.send(session(int(time.time() * 1e6))).status_code == 200
    expected = int.from_bytes(ipaddress.ip_address("192.0.2.77").packed, "big", signed=True)
    assert comms_ips(own, name) == {expected}


def test_hosts_behind_a_proxy_that_ends_tls_have_addresses_of_their_own(tmp_path: Path) -> None:
    for server in start_server(tmp_path / "data", "--set", "trusted_proxies=127.0.0.1"):
        with server.client(**{"X-Forwarded-For": "198.51.100.1, 192.0.2.78"}) as client:
            sensor = enrol(client, "ended.corp.example", secret_of(server))
            assert sensor.send(session(int(time.time() * 1e6))).status_code == 200
        expected = int.from_bytes(ipaddress.ip_address("192.0.2.78").packed, "big", signed=True)
        assert comms_ips(server, "ended.corp.example") == {expected}


def comms_ips(server: Server, hostname: str) -> set[int]:
    with server.analyst() as client:

        def found() -> set[int]:
            asked = {"q": f"hostname:{hostname}"}
            results = client.get("/api/v1/process", params=asked).json()["results"]
            return {one["comms_ip"] for one in results}

        wait_for(lambda: bool(found()), True, 60)
        return found()


def test_a_server_of_plain_http_reads_the_header_too(tmp_path: Path) -> None:
    flags = ("--http", "--set", f"trusted_proxies={PROXY}", "--set", "proxy_protocol=true")
    for server in start_server(tmp_path / "data", *flags):
        with behind(server, header("192.0.2.9")) as proxied:
            plain = proxied.url.replace("https://", "http://")
            answer = httpx.get(
                f"{plain}/api/v1/approvedlist/locked_out", headers={"X-Auth-Token": server.token}
            )
            assert answer.json()["caller"]["address"] == "192.0.2.9"
