"""Slow and many clients, against uvicorn with our protocol and deadlines of a fraction of a
second."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from vedette.bootstrap.http_protocol import PIPELINED_REQUESTS_MAX, BoundedHttpProtocol

ANSWER_BYTES = 8 << 20
HEAD = b"GET /healthz HTTP/1.1\r\nhost: x\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body, and answers much on `/much`."""
    while (await receive()).get("more_body"):
        pass
    body = bytes(ANSWER_BYTES) if scope["path"] == "/much" else b"fine"
    head = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    for name, value in (
        ("http_protocol.CONNECTION_CHECK_S", 0.05),
        ("http_protocol.HEAD_DEADLINE_S", 0.4),
        ("connection.byte_budget.BODY_GRACE_S", 0.4),
        ("http_protocol.WRITE_DEADLINE_S", 0.4),
        ("descriptors.CONNECTIONS_MAX", 8),
    ):
        monkeypatch.setattr(f"vedette.bootstrap.{name}", value)
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=BoundedHttpProtocol, lifespan="off", log_config=None, loop="uvloop"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = True
    thread.join(20)
    listener.close()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def dribble(client: socket.socket, content: bytes) -> None:
    """Sends 50 bytes a second, one by one."""
    for byte in content:
        client.sendall(bytes([byte]))
        time.sleep(0.02)


def rest_of(client: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    received = b""
    try:
        while piece := client.recv(65_536):
            received += piece
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize("sent", [b"", b"GET / HT", HEAD])
def test_a_head_that_never_comes_is_closed(port: int, sent: bytes) -> None:
    with connected(port) as client:
        client.sendall(sent)
        began = time.monotonic()
        assert rest_of(client).startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began < 5


def test_a_head_that_comes_byte_by_byte_is_closed(port: int) -> None:
    with connected(port) as client:
        began = time.monotonic()
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            dribble(client, HEAD * 1_000)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("is_dribbling", [False, True])
def test_a_body_that_never_comes_is_closed(port: int, is_dribbling: bool) -> None:
    with connected(port) as client:
        client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\nbeginning")
        began = time.monotonic()
        if is_dribbling:
            with pytest.raises((ConnectionResetError, BrokenPipeError)):
                dribble(client, b"x" * 500)
        else:
            assert rest_of(client) == b""
        assert time.monotonic() - began < 5


def test_bytes_sent_early_buy_a_body_no_time_later(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n")
        client.sendall(bytes(4 << 20))
        began = time.monotonic()
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            dribble(client, b"x" * 500)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("filler", [b"\r\n", b"x"])
def test_bytes_after_an_answer_keep_no_connection_open(port: int, filler: bytes) -> None:
    with connected(port) as client:
        client.sendall(HEAD + b"\r\n")
        assert client.recv(1_000).startswith(b"HTTP/1.1 200 ")
        began = time.monotonic()
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            dribble(client, filler * 500)
        assert time.monotonic() - began < 5


def test_requests_that_wait_for_an_answer_are_bounded(port: int) -> None:
    request = HEAD + b"\r\n"
    few, many = PIPELINED_REQUESTS_MAX, 3 * PIPELINED_REQUESTS_MAX
    for number, answered in ((few, few), (many, 0)):
        with connected(port) as client:
            client.sendall(
                request * (number - 1)
                + request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
            )
            assert rest_of(client).count(b"HTTP/1.1 200 ") == answered


def test_a_refused_request_does_not_cut_off_the_answer_before_it(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"GET /much HTTP/1.1\r\nhost: x\r\n\r\nGET\r\n\r\n")
        answer = rest_of(client)
    assert len(answer.partition(b"\r\n\r\n")[2]) == ANSWER_BYTES
    assert b"connection: close" in answer.partition(b"\r\n\r\n")[0]


def test_a_body_that_keeps_coming_is_taken(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n")
        for _ in range(20):
            client.sendall(bytes(5_000))
            time.sleep(0.05)
        assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_an_answer_that_nobody_reads_ends_the_connection(port: int) -> None:
    with connected(port) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.sendall(b"GET /much HTTP/1.1\r\nhost: x\r\n\r\n")
        time.sleep(1.5)
        assert len(rest_of(client)) < ANSWER_BYTES


def test_an_answer_that_is_read_slowly_arrives(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"GET /much HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        received = 0
        while piece := client.recv(200_000):
            received += len(piece)
            time.sleep(0.01)
        assert received > ANSWER_BYTES


def test_idle_connections_make_room_for_new_ones(port: int) -> None:
    clients = [connected(port) for _ in range(40)]
    try:
        with connected(port) as client:
            client.sendall(HEAD + b"\r\n")
            assert client.recv(1_000).startswith(b"HTTP/1.1 200 ")
    finally:
        for one in clients:
            one.close()


@pytest.fixture
def busy(port: int) -> Iterator[None]:
    """Opens the maximum number of connections, each with an unfinished request."""
    clients = [connected(port) for _ in range(8)]
    for one in clients:
        one.sendall(HEAD)
    time.sleep(0.1)
    yield
    for one in clients:
        one.close()


@pytest.mark.usefixtures("busy")
def test_a_connection_above_the_limit_is_refused_where_none_is_idle(port: int) -> None:
    with connected(port) as client:
        client.sendall(b"POST /api/v1/ingest HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody")
        assert rest_of(client).startswith(b"HTTP/1.1 503 ")


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/sensor/v1/checkin?a=b"])
def test_health_and_check_ins_are_answered_above_the_limit(port: int, path: str) -> None:
    with connected(port) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody".encode())
        answer = rest_of(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer


@pytest.mark.usefixtures("busy")
def test_silent_clients_do_not_keep_the_reserve(port: int) -> None:
    silent = [connected(port) for _ in range(200)]
    with connected(port) as client:
        client.sendall(HEAD + b"\r\n")
        assert rest_of(client).startswith(b"HTTP/1.1 200 ")
    for one in silent:
        one.close()


def test_large_heads_that_do_not_end_share_a_limit(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.bootstrap.connection.byte_budget.HEADS_BYTES_MAX", 60_000)
    monkeypatch.setattr("vedette.bootstrap.http_protocol.HEAD_DEADLINE_S", 10.0)
    clients = [connected(port) for _ in range(4)]
    for one in clients:
        one.sendall(HEAD + b"x: " + bytes([120]) * 20_000)
        time.sleep(0.05)
    assert rest_of(clients[-1]).startswith(b"HTTP/1.1 503 ")
    with connected(port) as small:
        small.sendall(HEAD + b"\r\n")
        assert small.recv(1_000).startswith(b"HTTP/1.1 200 ")
    for one in clients:
        one.close()
