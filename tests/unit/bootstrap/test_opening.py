"""Connections are taken and looked at without a wait, and are what the standard library makes."""

import socket
from collections.abc import Iterator

import pytest

from vedette.bootstrap.opening import Opening, accepted, opening_of

LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


@pytest.fixture(params=LOOPBACK, ids=lambda family: family.name)
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with socket.socket(request.param, socket.SOCK_STREAM) as listening:
        listening.bind((LOOPBACK[request.param], 0))
        listening.listen()
        listening.setblocking(False)
        yield listening


def test_a_connection_has_its_clients_address_and_does_not_block(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()[:2]) as ours:
        client, address = accepted(listener)
        with client:
            assert address == ours.getsockname()[:2] == client.getpeername()[:2]
            assert (client.family, client.type) == (listener.family, socket.SOCK_STREAM)
            assert client.gettimeout() == 0.0
            assert not client.get_inheritable()
            assert opening_of(client) is Opening.INCOMPLETE


def test_no_connection_waits(listener: socket.socket) -> None:
    with pytest.raises(BlockingIOError):
        accepted(listener)


@pytest.mark.parametrize(
    ("sent", "opening"),
    [
        (b"\x16\x03\x01\x00\x02ab", Opening.TLS),
        (b"\x16\x03\x01\x00\x00", Opening.TLS),
        (b"\x16\x03", Opening.INCOMPLETE),
        (b"\x16\x03\x01\xff\xff", Opening.UNUSABLE),
        (b"GET / HTTP/1.1\r\n\r\n", Opening.PLAIN_HTTP),
        (bytes(100), Opening.UNUSABLE),
        (b"", Opening.UNUSABLE),
    ],
)
def test_what_has_arrived_stays(sent: bytes, opening: Opening) -> None:
    ours, client = socket.socketpair()
    with ours, client:
        client.setblocking(False)
        ours.sendall(sent)
        if not sent:
            ours.shutdown(socket.SHUT_WR)
        assert opening_of(client) is opening
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        assert client.recv(1_000) == sent


def test_a_connection_that_is_gone_is_unusable() -> None:
    ours, client = socket.socketpair()
    ours.close()
    client.close()
    assert opening_of(client) is Opening.UNUSABLE
