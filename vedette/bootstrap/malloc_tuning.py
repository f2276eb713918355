"""Memory that is given back and soon wanted again stays with the process."""

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters of glibc's mallopt(3)."""

_TRIM_BYTES: Final = 1024**3
_MMAP_BYTES: Final = 32 * 1024**2
"""The largest that it takes."""


def retain_freed_memory() -> None:
    """For a process that works on megabytes at a time and ends soon: on a virtual machine, to get
    a page from the system again costs more than most of what is done with it. Does nothing where
    the C library has no such parameters."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_TRIM_THRESHOLD, _TRIM_BYTES)
