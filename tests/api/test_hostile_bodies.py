"""Bodies made to cost the server memory and time, most of all those of callers without a
credential."""

import gzip
import json
import socket
import ssl
import threading
import time
import zlib
from urllib.parse import urlsplit

import pytest

from tests.support.sensor import enrol, secret_of
from tests.support.served import Server

BEFORE_AUTHENTICATION = [
    "/sensor/v1/enrol",
    "/osquery/enroll",
    "/osquery/config",
    "/osquery/log",
    "/osquery/distributed/read",
    "/osquery/distributed/write",
]


def unfinished(server: Server, path: str, head: str, body: bytes) -> int:
    """The status that is answered although the announced body never comes."""
    where = urlsplit(server.url)
    context = ssl.create_default_context(cafile=str(server.certificate))
    with (
        socket.create_connection((where.hostname or "", where.port or 0), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=where.hostname) as stream,
    ):
        stream.sendall(f"POST {path} HTTP/1.1\r\nhost: x\r\n{head}\r\n".encode() + body)
        return int(stream.recv(4_096).split()[1])


@pytest.mark.parametrize("path", BEFORE_AUTHENTICATION)
@pytest.mark.parametrize("head", ["content-length: 60000000\r\n", "transfer-encoding: chunked\r\n"])
def test_a_large_body_without_a_credential_is_refused_before_it_is_read(
    server: Server, path: str, head: str
) -> None:
    body = b'{"filler": "' + b"x" * 200_000
    if "chunked" in head:
        body = b"%x\r\n%s\r\n" % (len(body), body)
    assert unfinished(server, path, head, body) in (401, 413)


@pytest.mark.parametrize("path", BEFORE_AUTHENTICATION)
@pytest.mark.parametrize("beginning", [b" ", b"[", b'{"a":'])
def test_a_bomb_without_a_credential_is_refused_at_once(
    server: Server, path: str, beginning: bytes
) -> None:
    bomb = gzip.compress(beginning * (50_000_000 // len(beginning)), 1)
    began = time.monotonic()
    with server.client(**{"Content-Encoding": "gzip"}) as client:
        answer = client.post(path, content=bomb)
    assert answer.status_code in (400, 401, 413)
    assert time.monotonic() - began < 2


def test_a_log_larger_than_an_unknown_caller_may_send_is_taken_by_its_key(server: Server) -> None:
    with server.client() as client:
        body = {
            "enroll_secret": secret_of(server),
            "host_identifier": "large-log.example",
            "host_details": {"os_version": {"platform": "ubuntu"}},
        }
        key = client.post("/osquery/enroll", json=body).json()["node_key"]
        filler = [{"severity": "0", "message": "x" * 1_000}] * 300
        for encoding in ("", "gzip"):
            content = json.dumps({"node_key": key, "log_type": "status", "data": filler}).encode()
            content = gzip.compress(content) if encoding else content
            head = {"Content-Encoding": encoding} if encoding else {}
            answer = client.post("/osquery/log", content=content, headers=head)
            assert (answer.status_code, answer.json()) == (200, {})
        wrong = {"node_key": "1:wrong", "log_type": "status", "data": filler}
        assert client.post("/osquery/log", json=wrong).json() == {"node_invalid": True}
        late = {"log_type": "status", "data": filler, "node_key": key}
        answer = client.post("/osquery/log", json=late)
        assert (answer.status_code, answer.json()["node_invalid"]) == (401, True)


def test_a_body_of_many_gzip_members_costs_little(server: Server) -> None:
    members = gzip.compress(b"{}", mtime=0) * 100_000
    began = time.monotonic()
    with server.sender() as sender:
        answer = sender.post(
            "/api/v1/ingest", content=members, headers={"Content-Encoding": "gzip"}
        )
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad_compression")
    assert time.monotonic() - began < 2


def test_padding_after_a_gzip_member_is_looked_at_once(server: Server) -> None:
    """A zero byte before each member would have the rest copied for each."""
    body = gzip.compress(b"{}", mtime=0) + bytes(8 << 20)
    with server.sender() as sender:
        answer = sender.post("/api/v1/ingest", content=body, headers={"Content-Encoding": "gzip"})
    assert answer.status_code in (200, 400)
    assert answer.json()["reason"] != "bad_compression"


@pytest.mark.parametrize("filler", [b" ", b"\0", b"[", b"{}\n"])
def test_a_body_inflated_beyond_proportion_is_too_large(server: Server, filler: bytes) -> None:
    """64 MB of 64 kB: each of these took seconds of a core, or all memory of the machine."""
    bomb = gzip.compress(filler * ((64 << 20) // len(filler)), 9)
    with server.sender() as sender:
        answer = sender.post("/api/v1/ingest", content=bomb, headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["reason"]) == (413, "too_large")


def test_blanks_without_end_are_no_records(server: Server) -> None:
    blank = gzip.compress(b" " * (30 << 20), 9)
    with server.sender() as sender:
        answer = sender.post("/api/v1/ingest", content=blank, headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["reason"]) == (400, "empty_body")


def test_the_server_answers_others_while_bodies_are_inflated(server: Server) -> None:
    """Eight bombs of 4 MB at once, in what a sensor sends too: none keeps the event loop."""
    with server.client() as client:
        sensor = enrol(client, "bomber.example", secret_of(server))
    bomb = zlib.compress(b" " * (200 << 20), 1)
    heads = {**sensor.headers, "Content-Encoding": "deflate"}

    def throw(path: str) -> None:
        with server.client(**heads) as client:
            assert client.post(path, content=bomb[: 400 << 10]).status_code in (400, 413)

    paths = ["checkin", "events?epoch=e1&sequence=1", "binaries/offer"] * 3
    threads = [threading.Thread(target=throw, args=(f"/sensor/v1/{path}",)) for path in paths]
    for thread in threads:
        thread.start()
    slowest = 0.0
    with server.client() as client:
        while any(thread.is_alive() for thread in threads):
            began = time.monotonic()
            assert client.get("/healthz").status_code == 200
            slowest = max(slowest, time.monotonic() - began)
    assert slowest < 1.0
