"""Plain HTTP at the HTTPS port of a real server."""

import contextlib
import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.flow.conftest import ONE_SERVER
from tests.support.served import Server

pytestmark = ONE_SERVER


def exchanged(server: Server, sent: bytes) -> bytes:
    """Sends bytes on a plain connection and returns the answer."""
    place = urlsplit(server.url)
    answer = b""
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(sent)
        try:
            while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
                received = connection.recv(4_096)
                if not received:
                    break
                answer += received
        except ConnectionResetError:
            pass
    return answer


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
def test_plain_http_is_asked_to_use_https(server: Server, method: str) -> None:
    head, _, body = exchanged(
        server, f"{method} /healthz HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    ).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["reason"] == "https_required"
    assert "https://" in json.loads(body)["message"]


@pytest.mark.parametrize("sent", [b"\x00\x01\x02", b"\x16\x03\x01garbage", b"SSH-2.0-x\r\n"])
def test_what_is_neither_gets_no_http_answer_and_the_server_lives(
    server: Server, sent: bytes
) -> None:
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(sent)
        with contextlib.suppress(OSError):  # it may be closed at any of these
            connection.shutdown(socket.SHUT_WR)
            assert b"HTTP" not in connection.recv(4_096)
    with server.client() as client:
        assert client.get("/healthz").status_code == 200
