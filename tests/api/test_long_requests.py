"""Request lines and headers: long queries are read, endless ones end the connection."""

import json
import socket
import ssl
from contextlib import suppress
from http.client import HTTPSConnection
from urllib.parse import urlencode

import httpx
import pytest

from tests.support.served import Server
from vedette.bootstrap.http_protocol import HEADERS_MAX
from vedette.limits import REQUEST_LINE_BYTES_MAX


def test_a_query_longer_than_64_kib_travels_in_the_url(server: Server) -> None:
    query = " OR ".join(f"process_name:program-with-a-long-name-{one}.exe" for one in range(1_900))
    path = f"/api/v1/process?{urlencode({'q': query, 'rows': 0})}"
    assert len(path) > 65_536
    url = httpx.URL(server.url)
    context = ssl.create_default_context(cafile=str(server.certificate))
    connection = HTTPSConnection(url.host, url.port, context=context, timeout=60)
    connection.request("GET", path, headers={"X-Auth-Token": server.token})
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["total_results"]) == (200, 0)
    connection.close()


@pytest.mark.parametrize(
    ("begin", "status"),
    [
        (b"GET /", b"414"),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx-long: ", b"431"),
    ],
)
def test_an_endless_head_is_refused(server: Server, begin: bytes, status: bytes) -> None:
    answer = _send_head(server, begin + b"a" * (2 * REQUEST_LINE_BYTES_MAX))
    assert answer.split()[1] == status
    assert b'"reason":"too_large"' in answer


@pytest.mark.parametrize(("more", "status"), [(0, b"200"), (1, b"431"), (20_000, b"431")])
def test_a_request_has_a_bounded_number_of_headers(
    server: Server, more: int, status: bytes
) -> None:
    headers = b"x: y\r\n" * (HEADERS_MAX - 2 + more)
    head = b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n" + headers + b"\r\n"
    answer = _send_head(server, head)
    assert answer.split()[1] == status
    assert (b"headers" in answer) == (more > 0)


def test_headers_without_an_end_are_refused(server: Server) -> None:
    answer = _send_head(server, b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * (HEADERS_MAX + 2))
    assert answer.split()[1] == b"431"


def _send_head(server: Server, head: bytes) -> bytes:
    """The answer to bytes that begin a request and never end it."""
    url = httpx.URL(server.url)
    context = ssl.create_default_context(cafile=str(server.certificate))
    with (
        socket.create_connection((url.host, url.port or 443), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname=url.host) as secure,
    ):
        answer = b""
        with suppress(OSError):  # closed before all was read; the answer may still be there
            secure.sendall(head)
        while chunk := _receive(secure):
            answer += chunk
        return answer


def _receive(secure: ssl.SSLSocket) -> bytes:
    try:
        return secure.recv(65_536)
    except OSError:
        return b""
