"""Messages to and from the process that parses rules (`rule_parser.py`): MessagePack, each preceded
by its length in 8 bytes. Standard input carries `RuleFile`s, standard output the documents of each
file."""

from collections.abc import Mapping
from typing import BinaryIO, Final

import msgspec

LENGTH_BYTES: Final = 8


class RuleFile(msgspec.Struct):
    """A file of rules. Each of its documents stores `origin`. `placeholders` are the values that
    the file is compiled with."""

    name: str
    text: str
    origin: str
    placeholders: Mapping[str, tuple[str, ...]] = {}


def read_message(stream: BinaryIO) -> bytes | None:
    """Reads the next message; None at the end."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    length = int.from_bytes(head, "big")
    message = stream.read(length)
    return message if len(message) == length else None


def write_message(stream: BinaryIO, message: bytes) -> None:
    stream.write(len(message).to_bytes(LENGTH_BYTES, "big") + message)
    stream.flush()
