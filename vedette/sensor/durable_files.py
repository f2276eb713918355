"""Writes small files that survive a crash undamaged."""

from __future__ import annotations

import os
from pathlib import Path


def write_durably(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replaces the file atomically: it has the old or the new content at any time. Raises OSError
    if the disk refuses the write; the old content remains."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)  # left by an earlier run, or a link that another program created
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes added and removed names durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
