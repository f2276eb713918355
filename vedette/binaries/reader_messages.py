"""Messages between the server and a reading process: lengths in 4 bytes, then msgpack."""

from typing import IO, Final

import msgspec

from vedette.binaries.yara_result import YaraResult, YaraText

LENGTH_BYTES: Final = 4


class Setup(msgspec.Struct, frozen=True):
    """The first message to a process: what signatures are judged by, and the YARA rules."""

    roots: tuple[bytes, ...] = ()
    distrusted: frozenset[str] = frozenset()
    rules: tuple[YaraText, ...] = ()


class ReadRequest(msgspec.Struct, frozen=True):
    """One file; its bytes follow the message. The answer is its facts, then, of a whole file where
    there are rules, `Scanned` until one has a result."""

    size: int
    is_whole: bool
    is_apart: bool = False
    """Whether each text of rules is asked alone, so that the one that ends the process is known."""


class Scanned(msgspec.Struct, frozen=True):
    """How far the rules are: the text that is asked now, or the result."""

    asking: str = ""
    result: YaraResult | None = None


def write_message(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Writes and flushes it."""
    packed = msgspec.msgpack.encode(message)
    stream.write(len(packed).to_bytes(LENGTH_BYTES, "big") + packed)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes:
    """The next message; empty at the end of the stream."""
    head = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else b""
