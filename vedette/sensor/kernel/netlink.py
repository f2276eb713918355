"""Netlink messages and sockets, shared by audit, proc connector and sock_diag.

A message is `length u32, type u16, flags u16, sequence u32, port u32`, then its body, padded to
four bytes. The length of audit records is wrong by the 16 bytes of the header, so audit code treats
a datagram as a single message.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator

from ..limits import NETLINK_MESSAGE_BYTES_MAX, NETLINK_WAIT_S, SOCKET_BYTES

HEADER = struct.Struct("=IHHII")
HEADER_BYTES = 16
REQUEST, ACK, DUMP = 0x1, 0x4, 0x300
ERROR, DONE = 2, 3
_SO_RCVBUFFORCE = 33


class NetlinkError(OSError):
    """Raised if the kernel refused a request; see `errno`."""


def open_socket(protocol: int, groups: int = 0) -> socket.socket:
    """Returns a bound netlink socket with a large receive buffer. Raises OSError without kernel
    support."""
    found = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    try:
        found.bind((0, groups))
        with contextlib.suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, SOCKET_BYTES)
    except OSError:
        found.close()
        raise
    return found


def message(kind: int, flags: int, sequence: int, body: bytes) -> bytes:
    """Encodes a netlink message: header and body."""
    return HEADER.pack(HEADER_BYTES + len(body), kind, flags, sequence, 0) + body


def messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields type, sequence and body of each message of a datagram."""
    at = 0
    while at + HEADER_BYTES <= len(data):
        length, kind, _, sequence, _ = HEADER.unpack_from(data, at)
        if length < HEADER_BYTES:
            return
        yield kind, sequence, data[at + HEADER_BYTES : at + length]
        at += (length + 3) & ~3


def raise_refusal(body: bytes) -> None:
    """Raises NetlinkError for an error message that is not an acknowledgement."""
    (number,) = struct.unpack_from("=i", body)
    if number:
        raise NetlinkError(-number, os.strerror(-number))


def request(found: socket.socket, kind: int, flags: int, sequence: int, body: bytes) -> list[bytes]:
    """Sends a request. Returns the bodies of the answers: up to the acknowledgement with ACK, up to
    the end of a dump with DUMP, else a single one.

    Raises NetlinkError if the kernel refuses, TimeoutError if it does not answer.
    """
    found.settimeout(NETLINK_WAIT_S)
    found.send(message(kind, flags | REQUEST, sequence, body))
    bodies: list[bytes] = []
    while True:
        for answered, number, content in messages(found.recv(NETLINK_MESSAGE_BYTES_MAX)):
            if number != sequence:
                continue
            if answered == ERROR:
                raise_refusal(content)
                return bodies
            if answered == DONE:
                return bodies
            bodies.append(content)
            if not flags & (ACK | DUMP):
                return bodies
