"""The first bytes of a connection at the HTTPS port, looked at before anything is set up for it:
of a proxy that passes TLS on the PROXY header, version 2, then those of the client.

Under a flood there are thousands of them. So what is done for each, which never waits, keeps the
interpreter lock: the event loop, which gives it up for a call, gets it back only after the turn of
a thread that computes.
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

from vedette import limits

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
"""Version and command: the proxy's own connection, as for checks; that of a client."""

_ADDRESS_BYTES: Final = {0x11: 4, 0x21: 16}
"""Of TCP over IPv4 and IPv6."""


_C: Final = ctypes.PyDLL(None, use_errno=True)
"""The C library, with the interpreter lock kept during its calls."""

_C.recv.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
_C.recv.restype = ctypes.c_ssize_t
_C.send.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
_C.send.restype = ctypes.c_ssize_t

_EPOLL_CTL_ADD, _EPOLL_CTL_DEL = 1, 2


class _EpollEvent(ctypes.Structure):
    """`struct epoll_event`: packed on x86-64 alone."""

    _pack_ = 1 if platform.machine() == "x86_64" else 8
    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))


_ADDRESS_ROOM: Final = 128
"""Bytes of an address of any family."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a proxy says that a connection comes from; None: from the proxy itself."""

    client: tuple[str, int] | None


class Opening(Enum):
    """What a connection begins with."""

    TLS = auto()
    """The whole first record of a handshake."""
    PLAIN_HTTP = auto()
    INCOMPLETE = auto()
    """Wakes again when the rest of the record is there."""
    UNUSABLE = auto()
    """Something else, or the client has gone."""


def accepted(listener: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
    """A connection that waits, as a socket that does not block, with its client's address and port.
    Raises BlockingIOError where none waits, OSError where it cannot be had."""
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
    """Up to so many bytes that have arrived, and stay; b"" where the client has closed. Raises
    BlockingIOError where nothing has, OSError where the connection is gone."""
    room = ctypes.create_string_buffer(size)
    count = _C.recv(client.fileno(), room, size, socket.MSG_PEEK)
    if count < 0:
        raise _os_error()
    return room.raw[:count]


def _discard(client: socket.socket) -> int:
    """Bytes that had arrived, and are read and ignored; 0 where the client has closed, -1 where
    there are none, or the connection is gone."""
    room = ctypes.create_string_buffer(limits.IGNORED_BYTES)
    return int(_C.recv(client.fileno(), room, limits.IGNORED_BYTES, 0))


def is_closed_by_client(client: socket.socket) -> bool:
    """Ignores what a client sends after its answer."""
    count = _discard(client)
    return count == 0 or (count < 0 and not isinstance(_os_error(), BlockingIOError))


def close(client: socket.socket) -> None:
    """A selector that watches the connection forgets it by this."""
    _C.close(client.detach())


def watch(selector: select.epoll, client: socket.socket) -> None:
    """Has a selector wake when something arrives. Raises OSError where it cannot."""
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
    """Looks at what has arrived and leaves it there; the socket does not block."""
    try:
        head = _peeked(client, _HEADER)
        if not head:
            return Opening.UNUSABLE
        if head[0] != _HANDSHAKE:
            return _without_tls(client, head)
        if len(head) < _HEADER:
            return _wait_for(client, _HEADER)
        size = _HEADER + int.from_bytes(head[3:5], "big")
        if size > limits.TLS_RECORD_BYTES_MAX:
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
    """Has the socket wake when so many bytes are there, or the client has closed. Where it woke
    for fewer of them than it waited for, there will not be more."""
    if client.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == size:
        return Opening.UNUSABLE
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
    return Opening.INCOMPLETE


def answer_plain_http(client: socket.socket) -> None:
    """Answers that the port speaks HTTPS, and ends the server's side; where the client has gone,
    nothing of it matters. What has arrived is read, as a socket with unread data would be reset,
    and the answer lost."""
    _discard(client)
    with suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    _C.send(client.fileno(), ANSWER, len(ANSWER), socket.MSG_NOSIGNAL)
    _C.shutdown(client.fileno(), socket.SHUT_WR)


def origin_of(client: socket.socket) -> Origin | Opening:
    """Takes the PROXY header off a connection. INCOMPLETE and UNUSABLE as for `opening_of`: what
    follows the header is not looked at."""
    try:
        head = client.recv(_FIXED, socket.MSG_PEEK)
        if not head or head[: len(_SIGNATURE)] != _SIGNATURE[: len(head)]:
            return Opening.UNUSABLE
        if len(head) < _FIXED:
            return _wait_for(client, _FIXED)
        size = _FIXED + int.from_bytes(head[14:16], "big")
        if size > limits.PROXY_HEADER_BYTES_MAX or head[12] not in (_LOCAL, _PROXY):
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
        return Origin(None)  # neither TCP over IPv4 nor IPv6: the header says nothing
    if len(header) < _FIXED + 2 * size + 4:
        return Opening.UNUSABLE
    address = ip_address(header[_FIXED : _FIXED + size])
    port = int.from_bytes(header[_FIXED + 2 * size : _FIXED + 2 * size + 2], "big")
    return Origin((str(address), port))
