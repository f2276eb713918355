"""A TCP proxy on loopback that breaks connections in the ways that networks and servers do."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from tests.support.receivers import tcp_receiver

Mode = Literal["pass", "down", "error", "cut request", "cut answer", "hang", "trickle"]
TIMEOUT_S = 30.0


@dataclass
class Unsteady:
    """Mode of the proxy for new connections, and the number of connections by mode."""

    url: str = ""
    mode: Mode = "pass"
    counts: dict[str, int] = field(default_factory=dict)
    ends: threading.Event = field(default_factory=threading.Event)


@contextmanager
def unsteady(url: str) -> Iterator[Unsteady]:
    """A proxy before the server of a URL."""
    parts = urlsplit(url)
    assert parts.hostname
    place = (parts.hostname, parts.port or 80)
    state = Unsteady()

    def handle(connection: socket.socket) -> None:
        mode = state.mode
        state.counts[mode] = state.counts.get(mode, 0) + 1
        connection.settimeout(TIMEOUT_S)
        _HANDLERS[mode](connection, place, state)

    with tcp_receiver(handle) as port:
        state.url = f"http://127.0.0.1:{port}"
        try:
            yield state
        finally:
            state.ends.set()


def _request(connection: socket.socket) -> bytes:
    """A whole request, by its Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        piece = _received(connection)
        body += piece
        data += piece
    return data


def _received(connection: socket.socket) -> bytes:
    piece = connection.recv(65_536)
    if not piece:
        raise OSError("the client went away")
    return piece


def _forwarded(request: bytes, place: tuple[str, int]) -> bytes:
    """The answer of the server behind; it closes after it."""
    with socket.create_connection(place, TIMEOUT_S) as server:
        head, _, body = request.partition(b"\r\n\r\n")
        server.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
        answer = b""
        while piece := server.recv(65_536):
            answer += piece
        return answer


def _pass(connection: socket.socket, place: tuple[str, int], _: Unsteady) -> None:
    connection.sendall(_forwarded(_request(connection), place))


def _down(_: socket.socket, __: tuple[str, int], ___: Unsteady) -> None:
    """Closed before anything was read."""


def _error(connection: socket.socket, _: tuple[str, int], __: Unsteady) -> None:
    _request(connection)
    connection.sendall(
        b"HTTP/1.1 503 Slow Down\r\nContent-Length: 9\r\nConnection: close\r\n\r\nSlow down"
    )


def _cut_request(connection: socket.socket, _: tuple[str, int], __: Unsteady) -> None:
    connection.recv(200)


def _cut_answer(connection: socket.socket, place: tuple[str, int], _: Unsteady) -> None:
    """Stored there, and nobody is told."""
    answer = _forwarded(_request(connection), place)
    with suppress(OSError):
        connection.sendall(answer[:7])


def _hang(_: socket.socket, __: tuple[str, int], state: Unsteady) -> None:
    state.ends.wait()


def _trickle(connection: socket.socket, _: tuple[str, int], state: Unsteady) -> None:
    """An answer that never comes to its end."""
    _request(connection)
    while not state.ends.wait(0.2):
        connection.sendall(b"H" if state.ends.is_set() else b"X")


_HANDLERS = {
    "pass": _pass,
    "down": _down,
    "error": _error,
    "cut request": _cut_request,
    "cut answer": _cut_answer,
    "hang": _hang,
    "trickle": _trickle,
}
