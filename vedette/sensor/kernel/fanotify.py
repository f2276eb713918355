"""fanotify through ctypes: system calls that Python's library lacks.

An event carries an open file and the pid of the actor. The kernel opens these files for the group,
without further events.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from ..limits import FANOTIFY_READ_BYTES

CLOSE_WRITE = 0x8
OPEN_EXEC_PERM = 0x40000
QUEUE_OVERFLOW = 0x4000
ALLOW, DENY = 1, 2

_CLOEXEC, _NONBLOCK = 0x1, 0x2
_CLASS_NOTIFY, _CLASS_CONTENT = 0x0, 0x4
_ADD, _FILESYSTEM, _IGNORED_MASK, _EVICTABLE = 0x1, 0x100, 0x20, 0x200
_FLUSH = 0x80
_IGNORED_MARKS = _ADD | _IGNORED_MASK | _EVICTABLE
_METADATA = struct.Struct("=IBBHQii")
_RESPONSE = struct.Struct("=iI")
_HERE = -100

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fanotify_mark.argtypes = (
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.c_uint64,
    ctypes.c_int,
    ctypes.c_char_p,
)


class Event(NamedTuple):
    """A fanotify event. The receiver owns `handle`, which is -1 after a queue overflow."""

    mask: int
    handle: int
    pid: int


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


class Group:
    """A fanotify group. Raises OSError without kernel support or privilege."""

    def __init__(self, *, asks: bool) -> None:
        """If `asks` is True, the group decides on permission events."""
        flags = _CLOEXEC | _NONBLOCK | (_CLASS_CONTENT if asks else _CLASS_NOTIFY)
        opened = os.O_RDONLY | os.O_CLOEXEC | os.O_LARGEFILE | os.O_NOATIME
        self.handle = _checked(_libc.fanotify_init(flags, opened))

    def close(self) -> None:
        """Closes the group. The kernel then allows the execs that it had suspended for it."""
        os.close(self.handle)

    def watch(self, mount: str, mask: int) -> None:
        """Watches the whole file system that is mounted there."""
        self._mark(_ADD | _FILESYSTEM, mask, _HERE, mount.encode("utf-8", "surrogateescape"))

    def ignore(self, handle: int, mask: int) -> None:
        """Suppresses such events of this file until it is written to. Raises OSError before Linux
        5.19."""
        path = f"/proc/self/fd/{handle}".encode()
        self._mark(_IGNORED_MARKS, mask, _HERE, path)

    def reset_ignored(self) -> None:
        """Drops all ignore marks."""
        self._mark(_FLUSH, 0, _HERE, b"/")

    def _mark(self, flags: int, mask: int, folder: int, path: bytes) -> None:
        _checked(_libc.fanotify_mark(self.handle, flags, mask, folder, path))

    def read(self) -> Iterator[Event]:
        """Yields the events available now. An OSError (EMFILE, or EPERM for a file that cannot be
        opened) loses only a single event."""
        try:
            data = os.read(self.handle, FANOTIFY_READ_BYTES)
        except BlockingIOError:
            return
        at = 0
        while at + _METADATA.size <= len(data):
            length, _, _, _, mask, handle, pid = _METADATA.unpack_from(data, at)
            yield Event(mask, handle, pid)
            at += max(length, _METADATA.size)

    def answer(self, handle: int, verdict: int) -> None:
        os.write(self.handle, _RESPONSE.pack(handle, verdict))
