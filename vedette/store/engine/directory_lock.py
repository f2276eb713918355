"""Exclusive ownership of a data directory: an advisory lock that ends with its process."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vedette.errors import StartError

LOCK_NAME = "owner.lock"


@contextmanager
def directory_lock(directory: Path) -> Iterator[None]:
    """Locks `directory` (created if missing). Raises StartError if another process has the lock."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartError(f"cannot use the data directory {directory}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StartError(_in_use(directory, descriptor)) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _in_use(directory: Path, descriptor: int) -> str:
    holder = os.pread(descriptor, 20, 0).decode(errors="replace") or "unknown"
    return (
        f"the data directory {directory} is in use by process {holder}: "
        "wait for its end if it is an import, stop it if it is a server, or use another directory"
    )
