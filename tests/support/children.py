"""The child processes of this one, from /proc."""

import os
from pathlib import Path


def children(word: str, parent: int | None = None) -> list[int]:
    """Running children of a process (this one when None) whose command line has a word, and those
    that these have forked."""
    found = [pid for pid in _children(parent or os.getpid()) if word in _command(pid)]
    return [*found, *(pid for child in found for pid in children(word, child))]


def _children(parent: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{parent}/task").iterdir())
        return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


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
