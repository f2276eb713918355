"""Text helpers for audit and Endpoint Security events: JSON strings, arguments, inodes."""

import json
import re
import shlex
from functools import lru_cache

_QUOTING = re.compile(r"""['"\\]""")


@lru_cache(maxsize=32_768)
def quoted(text: str) -> bytes:
    """Returns a JSON string."""
    return json.dumps(text).encode()


@lru_cache(maxsize=16_384)
def split_line(command_line: str) -> tuple[str, ...]:
    """Splits a command line into arguments, like the shell."""
    if _QUOTING.search(command_line):
        return tuple(shlex.split(command_line))
    return tuple(command_line.split())


@lru_cache(maxsize=16_384)
def arguments(command_line: str) -> bytes:
    """Returns the arguments as a JSON array."""
    return b"[" + b", ".join(map(quoted, split_line(command_line))) + b"]"


@lru_cache(maxsize=32_768)
def inode_of(path: str) -> int:
    """Returns a constant inode number for a path."""
    return 131_072 + sum(path.encode()) * 977 % 1_900_000
