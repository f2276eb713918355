"""Messages between the server and a reading process: length in 4 bytes, then msgpack."""

from typing import IO, Final

import msgspec

from vedette.binaries.yara_result import YaraResult, YaraText

LENGTH_BYTES: Final = 4


class Setup(msgspec.Struct, frozen=True):
    """The first message to a process: certificates for judging signatures, and the YARA rules."""

    roots: tuple[bytes, ...] = ()
    distrusted: frozenset[str] = frozenset()
    rules: tuple[YaraText, ...] = ()


class ReadRequest(msgspec.Struct, frozen=True):
    """One file; its bytes follow the message. The answer is its facts. If there are rules and the
    file is complete, `Scanned` messages follow until one has a result."""

    size: int
    is_whole: bool
    is_apart: bool = False
    """Whether each text of rules is scanned separately, to identify the text that ends the
    process."""


class Scanned(msgspec.Struct, frozen=True):
    """Progress of the rules: the text that is being scanned, or the result."""

    asking: str = ""
    result: YaraResult | None = None


def write_message(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Writes a message and flushes the stream."""
    packed = msgspec.msgpack.encode(message)
    stream.write(len(packed).to_bytes(LENGTH_BYTES, "big") + packed)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes:
    """Returns the next message; empty at the end of the stream."""
    head = stream.read(LENGTH_BYTES)
    return stream.read(int.from_bytes(head, "big")) if len(head) == LENGTH_BYTES else b""
