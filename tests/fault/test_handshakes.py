"""Floods of connections that begin no TLS handshake, from one address and from others."""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fault.crash import forked
from tests.support.served import Server, listening
from vedette.bootstrap.acceptor import HANDSHAKE_DEADLINE_S
from vedette.bootstrap.opening import ANSWER

DESCRIPTORS = 256
"""File descriptors of the server, of which 32 connections may be without a complete handshake."""

FLOOD = 100
PIECE_BYTES = 7


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("handshakes")
    with forked(data, descriptors=DESCRIPTORS) as process:
        yield listening(data, process)
        assert process.poll() is None
    assert "Traceback" not in (data / "server.log").read_text()


def connected(server: Server, source: str = "127.0.0.1") -> socket.socket:
    where = urlsplit(server.url)
    address = (where.hostname or "", where.port or 0)
    return socket.create_connection(address, timeout=10, source_address=(source, 0))


def asked(server: Server, plain: socket.socket) -> bytes:
    """The status line of an answer over a connection that was open for a while."""
    context = ssl.create_default_context(cafile=str(server.certificate))
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as stream:
        stream.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        return stream.recv(4_096).split(b"\r\n", 1)[0]


def test_a_flood_from_some_addresses_closes_only_their_own_connections(server: Server) -> None:
    with ExitStack() as held:
        slow = [held.enter_context(connected(server, "127.0.0.9")) for _ in range(3)]
        for number in range(FLOOD):
            held.enter_context(connected(server, f"127.0.0.{10 + number % 2}"))
        assert asked(server, held.enter_context(connected(server))) == b"HTTP/1.1 200 OK"
        for one in slow:  # they came first, and were not the ones to be closed
            assert asked(server, one) == b"HTTP/1.1 200 OK"


def test_a_handshake_that_comes_in_pieces_is_completed(server: Server) -> None:
    context = ssl.create_default_context(cafile=str(server.certificate))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    secure = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with pytest.raises(ssl.SSLWantReadError):
        secure.do_handshake()
    hello = outgoing.read()
    with connected(server) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for begin in range(0, len(hello), PIECE_BYTES):
            plain.sendall(hello[begin : begin + PIECE_BYTES])
            time.sleep(0.002)
        answer = plain.recv(4_096)
        assert answer[:3] == b"\x16\x03\x03"


@pytest.mark.parametrize(
    "sent",
    [b"\x00\x01\x02\x03\x04\x05", b"SSH-2.0-x\r\n", b"\x16\x03\x01\xff\xff" + bytes(99)],
)
def test_what_cannot_be_a_handshake_is_closed_at_once(server: Server, sent: bytes) -> None:
    with connected(server) as plain:
        began = time.monotonic()
        plain.sendall(sent)
        with suppress(ConnectionResetError):
            assert plain.recv(4_096) == b""
        assert time.monotonic() - began < HANDSHAKE_DEADLINE_S / 2


def test_plain_http_in_pieces_is_answered(server: Server) -> None:
    with connected(server) as plain:
        for part in (b"G", b"ET", b" / HTTP/1.1\r\nhost: x\r\n\r\n"):
            plain.sendall(part)
            time.sleep(0.05)
        answer = b""
        while piece := plain.recv(4_096):
            answer += piece
        assert answer == ANSWER


def test_clients_that_come_at_once_are_all_answered(server: Server) -> None:
    """More than the event loop looks at in one turn; the last to come goes first."""
    with ExitStack() as held:
        waiting = [held.enter_context(connected(server)) for _ in range(30)]
        for one in waiting:
            one.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert {one.recv(4_096) for one in reversed(waiting)} == {ANSWER}


UNFINISHED = (b"", b"\x16\x03\x01", b"\x16\x03\x01\x00\x99abc", b"GE", b"GET / HTTP/1.1\r\n")
"""Beginnings that no handshake follows. The server answers the last, and its client does not
close."""


def test_what_begins_nothing_in_time_is_closed(server: Server) -> None:
    with ExitStack() as held:
        began = time.monotonic()
        for sent in UNFINISHED:
            one = held.enter_context(connected(server))
            one.settimeout(HANDSHAKE_DEADLINE_S + 10)
            one.sendall(sent)
            held.callback(closed_in_time, one, began)


def closed_in_time(one: socket.socket, began_s: float) -> None:
    with suppress(ConnectionResetError):
        while one.recv(4_096):
            pass
    assert time.monotonic() - began_s < HANDSHAKE_DEADLINE_S + 5


def test_a_flood_leaves_no_descriptors_behind(server: Server, tmp_path: Path) -> None:
    for _ in range(3):
        with ExitStack() as held:
            for number in range(FLOOD):
                one = held.enter_context(connected(server))
                one.sendall((b"", b"x", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n")[number % 4])
    assert asked(server, connected(server)) == b"HTTP/1.1 200 OK"
