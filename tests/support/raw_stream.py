"""A TLS connection to a server, byte by byte: what a client library would not send."""

import os
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.support.served import Server
from vedette.bootstrap.local_access import read_access

_PIECE_BYTES = 64 * 1024


@contextmanager
def raw_stream(
    server: Server, source: str = "127.0.0.1", timeout_s: float = 30.0
) -> Iterator[ssl.SSLSocket]:
    """A TLS connection from an address of this machine."""
    where = urlsplit(server.url)
    context = ssl.create_default_context(cafile=str(server.certificate))
    address = (where.hostname or "", where.port or 0)
    with (
        socket.create_connection(address, timeout_s, (source, 0)) as plain,
        context.wrap_socket(plain, server_hostname=where.hostname) as stream,
    ):
        yield stream


def rest_of(stream: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    received = b""
    try:
        while piece := stream.recv(65_536):
            received += piece
    except (ConnectionError, ssl.SSLError):
        pass
    return received


def statuses_of(received: bytes) -> list[int]:
    """Statuses of answers whose bodies contain no status line."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def answer_to(server: Server, *pieces: bytes, source: str = "127.0.0.1") -> bytes:
    """Sends the pieces and returns the bytes that the server sends until it closes the
    connection."""
    with raw_stream(server, source) as stream:
        for piece in pieces:
            stream.sendall(piece)
        return rest_of(stream)


@dataclass(frozen=True)
class Taken:
    """Reaction of a server to an endless stream of bytes."""

    byte_count: int
    is_closed: bool
    cpu_s: float
    """Processor time of the server meanwhile."""


@contextmanager
def plain_stream(server: Server, timeout_s: float = 30.0) -> Iterator[socket.socket]:
    """A TCP connection without TLS."""
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname or "", where.port or 0), timeout_s) as stream:
        yield stream


def taken_of(
    server: Server,
    begin: bytes,
    filler: bytes,
    bytes_max: int,
    connect: Callable[[Server], AbstractContextManager[socket.socket]] = raw_stream,
) -> Taken:
    """Sends a beginning, then a filler again and again, until the server closes or `bytes_max`."""
    piece = filler * max(1, _PIECE_BYTES // len(filler))
    before_s, sent = _cpu_s(server), 0
    with connect(server) as stream:
        stream.sendall(begin)
        try:
            while sent < bytes_max:
                stream.sendall(piece)
                sent += len(piece)
        except (OSError, ssl.SSLError):
            return Taken(sent, True, _cpu_s(server) - before_s)
        return Taken(sent, False, _cpu_s(server) - before_s)


def _cpu_s(server: Server) -> float:
    access = read_access(server.data)
    assert access is not None
    with open(f"/proc/{access.pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
