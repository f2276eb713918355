"""Tunes glibc's malloc: to keep freed memory in the process, or to return large allocations."""

import ctypes
from typing import Final

from vedette.limits import Limit

MALLOC_TRIM_BYTES: Limit[int] = 1024**3
"""Free bytes at the end of the heap that glibc keeps. Returning and faulting in the pages of every
batch costs more."""

MALLOC_MMAP_BYTES: Limit[int] = 32 * 1024**2
"""Size in bytes from which glibc maps each allocation separately; the largest value that mallopt
accepts."""

SERVER_MMAP_BYTES: Limit[int] = 8 * 1024**2
"""Like `MALLOC_MMAP_BYTES`, for the server process, above the usual bodies of senders. Growing a
buffer of 32 MB copied it for up to 33 ms under the interpreter lock."""


_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters of glibc's mallopt(3)."""


def retain_freed_memory() -> None:
    """Keeps freed memory, for short-lived processes that repeatedly allocate and free megabytes: on
    a virtual machine, a page fault costs more than most of the work on the page. No effect without
    glibc."""
    _tune({_MMAP_THRESHOLD: MALLOC_MMAP_BYTES, _TRIM_THRESHOLD: MALLOC_TRIM_BYTES})


def grow_without_copies() -> None:
    """Maps large allocations, for the server, whose buffers grow under the interpreter lock: mapped
    buffers grow by moving pages. By default the threshold rises to 32 MB after as much was freed.
    No effect without glibc."""
    _tune({_MMAP_THRESHOLD: SERVER_MMAP_BYTES})


def _tune(values: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in values.items():
            mallopt(parameter, value)
