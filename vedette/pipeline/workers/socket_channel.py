"""Message channel over a connected stream socket: MessagePack messages, each prefixed by its length
in 8 bytes, big-endian."""

import socket
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import msgspec

from vedette.limits import Limit

WORKER_CHANNEL_BUFFER_BYTES: Limit[int] = 1 << 20
"""Kernel buffer requested for each direction of a worker's channel. A commit has several megabytes,
and each time the buffer is full the scheduler must switch to the other process."""


_LENGTH_BYTES: Final = 8

Incoming = TypeVar("Incoming")


class SocketChannel(Generic[Incoming]):
    """`MessageChannel` over `connection`. `incoming` is the union of all message types that the
    peer may send."""

    def __init__(self, connection: socket.socket, incoming: Any) -> None:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, WORKER_CHANNEL_BUFFER_BYTES)
        self._connection = connection
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Incoming] = msgspec.msgpack.Decoder(incoming)

    def send(self, message: msgspec.Struct) -> None:
        data = bytearray(_LENGTH_BYTES)
        self._encoder.encode_into(message, data, _LENGTH_BYTES)
        data[:_LENGTH_BYTES] = (len(data) - _LENGTH_BYTES).to_bytes(_LENGTH_BYTES, "big")
        self._connection.sendall(data)

    def receive(self) -> Incoming:
        length = int.from_bytes(self._receive_exactly(_LENGTH_BYTES), "big")
        return self._decoder.decode(self._receive_exactly(length))

    def fileno(self) -> int:
        return self._connection.fileno()

    def shut(self) -> None:
        with suppress(OSError):  # already disconnected
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._connection.close()

    def _receive_exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        room = memoryview(data)
        while room:
            received = self._connection.recv_into(room, 0, socket.MSG_WAITALL)
            if not received:
                raise ConnectionResetError("the other end of the channel is gone")
            room = room[received:]
        return data
