"""The child processes of this one, from /proc."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def children(word: str, parent: int | None = None) -> list[int]:
    """Running children of a process (this one when None) whose command line has a word, and those
    that these have forked."""
    found = [pid for pid in _children(parent or os.getpid()) if word in _command(pid)]
    return [*found, *(pid for child in found for pid in children(word, child))]


def _children(parent: int) -> list[int]:
    tasks = _read(lambda: list(Path(f"/proc/{parent}/task").iterdir()), [])
    # Each by itself: a thread that ends meanwhile is not the end of the process.
    texts = [_read((task / "children").read_text, "") for task in tasks]
    return [int(pid) for text in texts for pid in text.split()]


def _command(pid: int) -> str:
    return _read(Path(f"/proc/{pid}/cmdline").read_text, "")


def _read(read: Callable[[], T], gone: T) -> T:
    """Returns the result of reading a process or thread; `gone` if it has exited."""
    try:
        return read()
    except (FileNotFoundError, ProcessLookupError):
        return gone


def is_running(pid: int) -> bool:
    """Whether a process exists and is not merely waiting to be reaped."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
