"""Message channel over a connected stream socket: MessagePack, each message after its length in
8 bytes, big-endian."""

import socket
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import msgspec

_LENGTH_BYTES: Final = 8
_BUFFER_BYTES: Final = 1 << 20
"""Kernel buffer requested for each direction. A commit is megabytes, and each time the buffer is
full the scheduler has to switch to the other process."""

Incoming = TypeVar("Incoming")


class SocketChannel(Generic[Incoming]):
    """`MessageChannel` over `connection`. `incoming` is the union of message types that are
    received; it must not be a subset that the peer may exceed."""

    def __init__(self, connection: socket.socket, incoming: Any) -> None:
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            connection.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
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
        with suppress(OSError):  # disconnected already
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
