"""Clients of a real server that begin a request and do not go on, over TLS."""

import socket
import ssl
import time
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

from tests.flow.conftest import ONE_SERVER
from tests.support.served import Server
from vedette.bootstrap.http_protocol import CONNECTION_CHECK_S

pytestmark = ONE_SERVER

TIMEOUT_S = 120.0
"""Four times the deadlines, since the machine may have much else to do."""

UNFINISHED = {
    "a head that never ends": b"GET /healthz HTTP/1.1\r\nhost: x\r\n",
    "hardly a head": b"G",
    "a body that never comes": (
        b"POST /api/v1/session HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n"
    ),
    "a body that stops": (
        b"POST /sensor/v1/enrol HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{"
    ),
}


def connected(server: Server) -> ssl.SSLSocket:
    place = urlsplit(server.url)
    plain = socket.create_connection((place.hostname, place.port), timeout=TIMEOUT_S)
    context = ssl.create_default_context(cafile=str(server.certificate))
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def read_to_its_end(connection: ssl.SSLSocket) -> bytes:
    answer = b""
    with suppress(ConnectionResetError, ssl.SSLError):
        while piece := connection.recv(4_096):
            answer += piece
    return answer


def test_requests_that_never_end_are_ended_and_others_go_on(server: Server) -> None:
    with ExitStack() as held:
        slow = {name: held.enter_context(connected(server)) for name in UNFINISHED}
        for name, connection in slow.items():
            connection.sendall(UNFINISHED[name])
        with server.client() as client:
            assert client.get("/healthz").status_code == 200
        for name, connection in slow.items():
            answer = read_to_its_end(connection)  # a timeout fails the test
            assert answer == b"" or answer.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 401 ")), name


def test_a_request_that_comes_slowly_but_in_time_is_answered(server: Server) -> None:
    with connected(server) as connection:
        for piece in (
            b"GET /heal",
            b"thz HTTP/1.1\r\n",
            b"host: x\r\nconnection: close\r\n",
            b"\r\n",
        ):
            connection.sendall(piece)
            time.sleep(CONNECTION_CHECK_S / 4)
        assert read_to_its_end(connection).startswith(b"HTTP/1.1 200 ")
