"""The first bytes of a connection at the HTTPS port, looked at before anything is set up for it."""

import socket
from contextlib import suppress
from enum import Enum, auto
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


class Opening(Enum):
    """What a connection begins with."""

    TLS = auto()
    """The whole first record of a handshake."""
    PLAIN_HTTP = auto()
    INCOMPLETE = auto()
    """Wakes again when the rest of the record is there."""
    UNUSABLE = auto()
    """Something else, or the client has gone."""


def opening_of(client: socket.socket) -> Opening:
    """Looks at what has arrived and leaves it there; the socket does not block."""
    try:
        head = client.recv(_HEADER, socket.MSG_PEEK)
        if not head:
            return Opening.UNUSABLE
        if head[0] != _HANDSHAKE:
            return _without_tls(client, head)
        if len(head) < _HEADER:
            return _wait_for(client, _HEADER)
        size = _HEADER + int.from_bytes(head[3:5], "big")
        if size > limits.TLS_RECORD_BYTES_MAX:
            return Opening.UNUSABLE
        if len(client.recv(size, socket.MSG_PEEK)) < size:
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
    for fewer of them than it was told to wait for, there will not be more."""
    if client.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == size:
        return Opening.UNUSABLE
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
    return Opening.INCOMPLETE


def answer_plain_http(client: socket.socket) -> None:
    """Answers that the port speaks HTTPS, and ends the server's side. What has arrived is read, as
    a socket with unread data would be reset, and the answer lost."""
    with suppress(OSError):
        client.recv(limits.IGNORED_BYTES)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
        client.send(ANSWER)
        client.shutdown(socket.SHUT_WR)
