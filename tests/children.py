"""The child processes of this one, from /proc."""

import os
from pathlib import Path


def children(word: str, parent: int | None = None) -> list[int]:
    """Running children of a process (this one when None) whose command line has a word."""
    parent = parent or os.getpid()
    tasks = Path(f"/proc/{parent}/task")
    found = [
        int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()
    ]
    return [pid for pid in found if word in _command(pid)]


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
