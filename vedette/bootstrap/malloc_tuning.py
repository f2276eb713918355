"""Tunes glibc's malloc: to keep freed memory in the process, or to give large pieces back."""

import ctypes
from typing import Final

from vedette.limits import MALLOC_MMAP_BYTES, MALLOC_TRIM_BYTES, SERVER_MMAP_BYTES

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
"""Parameters of glibc's mallopt(3)."""


def retain_freed_memory() -> None:
    """For short-lived processes that allocate and free megabytes repeatedly: on a virtual machine a
    page fault costs more than most of the work on the page. No effect without glibc."""
    _tune({_MMAP_THRESHOLD: MALLOC_MMAP_BYTES, _TRIM_THRESHOLD: MALLOC_TRIM_BYTES})


def grow_without_copies() -> None:
    """For the server, whose buffers grow under the interpreter lock: what is large is mapped, and
    grows by moving pages. By itself the bound rises to 32 MB once as much was freed. No effect
    without glibc."""
    _tune({_MMAP_THRESHOLD: SERVER_MMAP_BYTES})


def _tune(values: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in values.items():
            mallopt(parameter, value)
