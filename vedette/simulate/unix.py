"""What audit events and Endpoint Security messages share: JSON texts, arguments, inodes."""

import json
import shlex
from functools import lru_cache


@lru_cache(maxsize=32_768)
def quoted(text: str) -> bytes:
    """A JSON string."""
    return json.dumps(text).encode()


@lru_cache(maxsize=16_384)
def split_line(command_line: str) -> tuple[str, ...]:
    """The arguments of a command line, as the shell splits it."""
    return tuple(shlex.split(command_line))


@lru_cache(maxsize=16_384)
def arguments(command_line: str) -> bytes:
    """The arguments as a JSON array."""
    return json.dumps(split_line(command_line)).encode()


@lru_cache(maxsize=32_768)
def inode_of(path: str) -> int:
    """An inode number that stays with its path."""
    return 131_072 + sum(map(ord, path)) * 977 % 1_900_000
