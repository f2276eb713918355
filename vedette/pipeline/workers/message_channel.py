"""One end of a connection between two processes of a server: each message after its length."""

import socket
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import msgspec

_LENGTH_BYTES: Final = 8
_BUFFER_BYTES: Final = 1 << 20
"""Asked of the kernel: a commit is megabytes, and whenever a buffer is full the other must run."""

Incoming = TypeVar("Incoming")


class SocketChannel(Generic[Incoming]):
    """Sends what msgspec can encode, receives messages of one union: one thread each.

    Both raise ConnectionError when the other end is gone.
    """

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
        length = int.from_bytes(self._exactly(_LENGTH_BYTES), "big")
        return self._decoder.decode(self._exactly(length))

    def fileno(self) -> int:
        """For selectors, which tell when there is something to receive."""
        return self._connection.fileno()

    def shut(self) -> None:
        """Ends it for both ends, also for a thread that is sending or receiving."""
        with suppress(OSError):  # ended already
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._connection.close()

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        room = memoryview(data)
        while room:
            received = self._connection.recv_into(room, 0, socket.MSG_WAITALL)
            if not received:
                raise ConnectionResetError("the other end of the link is gone")
            room = room[received:]
        return data
