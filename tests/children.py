"""The child processes of this one, from /proc."""

import os
from pathlib import Path


def children(word: str, parent: int | None = None) -> list[int]:
    """Running children of a process (this one when None), and theirs, whose command line has a
    word."""
    return [pid for pid in _family(parent or os.getpid()) if word in _command(pid)]


def _family(parent: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{parent}/task").iterdir())
        told = " ".join((task / "children").read_text() for task in tasks)
    except (FileNotFoundError, ProcessLookupError):
        return []
    found = [int(pid) for pid in told.split()]
    return [*found, *(pid for child in found for pid in _family(child))]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_running(pid: int) -> bool:
    """Whether a process exists and is not merely waiting to be reaped."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
