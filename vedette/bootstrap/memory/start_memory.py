"""Releases memory that only the start of the server needed.

The engine is a library of half a gigabyte. Loading it maps most of its code, of which an idle
server runs a tenth. The kernel counts mapped file pages as memory of the process until it reclaims
them. Unmapped pages stay in the page cache, and their next use maps them again without reading the
disk.
"""

import ctypes
import mmap
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_MAPPING: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ \d+\s*(.*)")
_LIBRARY: Final = re.compile(r"/.*\.so(\.[0-9.]+)?")
"""Paths of files that stay mapped until the process ends."""


def release_start_memory() -> int:
    """Unmaps unchanged pages of mapped libraries and returns glibc's free memory to the kernel.
    Returns the bytes of the mappings. No effect outside Linux or without glibc."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    trim = getattr(libc, "malloc_trim", None)
    if trim is not None:
        trim(0)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    released = 0
    for start, end in _unchanged_mappings(Path("/proc/self/smaps").read_text()):
        if libc.madvise(start, end - start, mmap.MADV_DONTNEED) == 0:
            released += end - start
    return released


def _unchanged_mappings(smaps: str) -> Iterator[tuple[int, int]]:
    """Yields address ranges of read-only library mappings without changed pages. Changed pages,
    such as relocations by the loader, exist in no file."""
    mapping: tuple[int, int] | None = None
    for line in smaps.splitlines():
        if found := _MAPPING.match(line):
            start, end, rights, path = found.groups()
            is_code = _LIBRARY.fullmatch(path) is not None and rights in ("r-xp", "r--p")
            mapping = (int(start, 16), int(end, 16)) if is_code else None
        elif line.startswith("Anonymous:") and mapping is not None and line.split()[1] == "0":
            yield mapping
