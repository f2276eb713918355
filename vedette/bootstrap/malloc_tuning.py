"""Tunes glibc's malloc to keep freed memory in the process."""

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters of glibc's mallopt(3)."""

_TRIM_BYTES: Final = 1024**3
_MMAP_BYTES: Final = 32 * 1024**2
"""The largest value that mallopt accepts."""


def retain_freed_memory() -> None:
    """For short-lived processes that allocate and free megabytes repeatedly: on a virtual machine a
    page fault costs more than most of the work on the page. No effect without glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_TRIM_THRESHOLD, _TRIM_BYTES)
