"""Messages between the server and a reading process: lengths in 4 bytes, then msgpack."""

from typing import IO, Final

import msgspec

LENGTH_BYTES: Final = 4


class Setup(msgspec.Struct, frozen=True):
    """The first message to a process: what signatures are judged by."""

    roots: tuple[bytes, ...] = ()
    distrusted: frozenset[str] = frozenset()


class ReadRequest(msgspec.Struct, frozen=True):
    """One file; its bytes follow the message."""

    size: int
    is_whole: bool


def write_message(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Writes and flushes it."""
    packed = msgspec.msgpack.encode(message)
    stream.write(len(packed).to_bytes(LENGTH_BYTES, "big") + packed)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes:
    """The next message; empty at the end of the stream."""
    head = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else b""
