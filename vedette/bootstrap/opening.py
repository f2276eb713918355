"""Inspects the first bytes of a connection at the HTTPS port before it is set up: the PROXY header,
version 2, of a proxy that forwards TLS, then the client's bytes.

A flood brings thousands of connections. The calls for each of them never block, so they keep the
interpreter lock: if the event loop released it for a call, it would get it back only after the turn
of a computing thread.
"""

import ctypes
import os
import platform
import select
import socket
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from ipaddress import ip_address
from typing import Final

import orjson

from vedette.limits import Limit

TLS_RECORD_BYTES_MAX: Limit[int] = 5 + 16_384
"""Maximum bytes of a TLS record with its header according to the protocol; a first message has some
kilobytes."""

PROXY_HEADER_BYTES_MAX: Limit[int] = 1_024
"""Bytes of the PROXY header before a connection of a trusted proxy: 28 or 52, plus extensions."""

IGNORED_BYTES: Limit[int] = 64 * 1024
"""Bytes read and ignored at once from a client that speaks plain HTTP to the HTTPS port."""


_HEADER: Final = 5
"""Bytes of a TLS record before its content: type, version, length."""

_HANDSHAKE: Final = 0x16

_METHODS: Final = (b"GET ", b"POST ", b"HEAD ", b"PUT ", b"PATCH", b"DELET", b"OPTIO")

_BODY: Final = orjson.dumps(
    {
        "reason": "https_required",
        "message": "this port speaks HTTPS: write https:// in place of http://",
    }
)
ANSWER: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_BODY), _BODY)
)


_SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"

_FIXED: Final = 16
"""Bytes of a PROXY header before its addresses: signature, command, family, length."""

_LOCAL, _PROXY = 0x20, 0x21
"""Version and command: the proxy's own connection (health checks), and a client's connection."""

_ADDRESS_BYTES: Final = {0x11: 4, 0x21: 16}
"""Address bytes of TCP over IPv4 and IPv6."""


_C: Final = ctypes.PyDLL(None, use_errno=True)
"""The C library, called while holding the interpreter lock."""

_C.recv.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
_C.recv.restype = ctypes.c_ssize_t
_C.send.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
_C.send.restype = ctypes.c_ssize_t

_EPOLL_CTL_ADD, _EPOLL_CTL_DEL = 1, 2


class _EpollEvent(ctypes.Structure):
    """`struct epoll_event`; packed only on x86-64."""

    _pack_ = 1 if platform.machine() == "x86_64" else 8
    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))


_ADDRESS_ROOM: Final = 128
"""Buffer size in bytes for an address of any family."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Client address announced by a proxy; None for the proxy's own connection."""

    client: tuple[str, int] | None


class Opening(Enum):
    """First data of a connection."""

    TLS = auto()
    """The complete first record of a handshake."""
    PLAIN_HTTP = auto()
    INCOMPLETE = auto()
    """The socket becomes readable again when the rest of the record has arrived."""
    UNUSABLE = auto()
    """Other data, or a closed connection."""


def accepted(listener: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
    """Accepts a waiting connection as a non-blocking socket, with the client's address and port.
    Raises BlockingIOError if none is waiting, OSError if accepting fails."""
    room, length = ctypes.create_string_buffer(_ADDRESS_ROOM), ctypes.c_uint32(_ADDRESS_ROOM)
    flags = socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
    descriptor = _C.accept4(listener.fileno(), room, ctypes.byref(length), flags)
    if descriptor < 0:
        raise _os_error()
    kind = socket.SOCK_STREAM | socket.SOCK_NONBLOCK
    client = socket.socket(listener.family, kind, listener.proto, fileno=descriptor)
    port = int.from_bytes(room.raw[2:4], "big")
    packed = room.raw[8:24] if listener.family == socket.AF_INET6 else room.raw[4:8]
    return client, (socket.inet_ntop(listener.family, packed), port)


def _peeked(client: socket.socket, size: int) -> bytes:
    """Returns up to `size` bytes already received, without consuming them; b"" if the client has
    closed. Raises BlockingIOError if nothing has arrived, OSError if the connection is gone."""
    room = ctypes.create_string_buffer(size)
    count = _C.recv(client.fileno(), room, size, socket.MSG_PEEK)
    if count < 0:
        raise _os_error()
    return room.raw[:count]


def _discard(client: socket.socket) -> int:
    """Reads and drops received bytes and returns their number; 0 if the client has closed, -1 if
    there are none or the connection is gone."""
    room = ctypes.create_string_buffer(IGNORED_BYTES)
    return int(_C.recv(client.fileno(), room, IGNORED_BYTES, 0))


def ignored_of(client: socket.socket) -> int | None:
    """Returns the bytes that a client sent after its response, which are dropped; None if it has
    closed."""
    count = _discard(client)
    if count == 0 or (count < 0 and not isinstance(_os_error(), BlockingIOError)):
        return None
    return max(count, 0)


def close(client: socket.socket) -> None:
    """Closes a connection; a selector that watches it drops it automatically."""
    _C.close(client.detach())


def watch(selector: select.epoll, client: socket.socket) -> None:
    """Adds a connection to a selector. Raises OSError if that fails."""
    descriptor = client.fileno()
    event = _EpollEvent(select.EPOLLIN, descriptor)
    if _C.epoll_ctl(selector.fileno(), _EPOLL_CTL_ADD, descriptor, ctypes.byref(event)) < 0:
        raise _os_error()


def unwatch(selector: select.epoll, client: socket.socket) -> None:
    _C.epoll_ctl(selector.fileno(), _EPOLL_CTL_DEL, client.fileno(), None)


def _os_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


def opening_of(client: socket.socket) -> Opening:
    """Classifies the received bytes without consuming them; never blocks."""
    try:
        head = _peeked(client, _HEADER)
        if not head:
            return Opening.UNUSABLE
        if head[0] != _HANDSHAKE:
            return _without_tls(client, head)
        if len(head) < _HEADER:
            return _wait_for(client, _HEADER)
        size = _HEADER + int.from_bytes(head[3:5], "big")
        if size > TLS_RECORD_BYTES_MAX:
            return Opening.UNUSABLE
        if len(_peeked(client, size)) < size:
            return _wait_for(client, size)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    except BlockingIOError:
        return Opening.INCOMPLETE
    except OSError:
        return Opening.UNUSABLE
    return Opening.TLS


def _without_tls(client: socket.socket, head: bytes) -> Opening:
    if any(head.startswith(method[: len(head)]) for method in _METHODS):
        if len(head) < _HEADER:
            return _wait_for(client, _HEADER)
        return Opening.PLAIN_HTTP
    return Opening.UNUSABLE


def _wait_for(client: socket.socket, size: int) -> Opening:
    """Makes the socket readable when `size` bytes have arrived or the client has closed. If it
    became readable with fewer bytes than requested, no more will come, and the result is
    UNUSABLE."""
    if client.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == size:
        return Opening.UNUSABLE
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
    return Opening.INCOMPLETE


def answer_plain_http(client: socket.socket) -> None:
    """Responds that the port speaks HTTPS, and shuts down the server's side; errors are ignored.
    Reads the received data first: closing a socket with unread data would reset it and lose the
    response."""
    _discard(client)
    with suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    _C.send(client.fileno(), ANSWER, len(ANSWER), socket.MSG_NOSIGNAL)
    _C.shutdown(client.fileno(), socket.SHUT_WR)


def origin_of(client: socket.socket) -> Origin | Opening:
    """Consumes the PROXY header of a connection. INCOMPLETE and UNUSABLE as for `opening_of`; does
    not read beyond the header."""
    try:
        head = client.recv(_FIXED, socket.MSG_PEEK)
        if not head or head[: len(_SIGNATURE)] != _SIGNATURE[: len(head)]:
            return Opening.UNUSABLE
        if len(head) < _FIXED:
            return _wait_for(client, _FIXED)
        size = _FIXED + int.from_bytes(head[14:16], "big")
        if size > PROXY_HEADER_BYTES_MAX or head[12] not in (_LOCAL, _PROXY):
            return Opening.UNUSABLE
        header = client.recv(size, socket.MSG_PEEK)
        if len(header) < size:
            return _wait_for(client, size)
        client.recv(size)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    except BlockingIOError:
        return Opening.INCOMPLETE
    except OSError:
        return Opening.UNUSABLE
    return _origin(header) if header[12] == _PROXY else Origin(None)


def _origin(header: bytes) -> Origin | Opening:
    size = _ADDRESS_BYTES.get(header[13])
    if size is None:
        return Origin(None)  # neither IPv4 nor IPv6 over TCP: no address
    if len(header) < _FIXED + 2 * size + 4:
        return Opening.UNUSABLE
    address = ip_address(header[_FIXED : _FIXED + size])
    port = int.from_bytes(header[_FIXED + 2 * size : _FIXED + 2 * size + 2], "big")
    return Origin((str(address), port))
