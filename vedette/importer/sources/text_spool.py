"""Keeps the texts of records on disk while their keys are sorted.

Sorting needs only the times of records. So lines of a large plain file stay in that file; other
texts, from archives or EVTX, are appended to a spool, an unnamed temporary file. Sorted items refer
to the offset of their text (`importer/scan/record_scanner.py`), which is read again to be sent.
"""

import os
import tempfile
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import IO, Final

import xxhash

from vedette.errors import VedetteError
from vedette.limits import Limit

TEXT_SPOOL_OPEN_FILES_MAX: Limit[int] = 64
"""Files that are open at once for texts of records: a directory may have more files than a process
may open."""

TEXT_SPOOL_BUFFER_BYTES: Limit[int] = 1024 * 1024
"""Write buffer of a spool, bytes: texts are appended one by one."""

TEXT_SPOOL_BLOCK_BYTES: Limit[int] = 64 * 1024
"""Bytes per read of texts: some dozens of records, which are needed together."""

TEXT_SPOOL_BLOCKS_CACHED_MAX: Limit[int] = 128
"""Blocks in the LRU cache of texts: they are read nearly in file order, or in one stream per
host."""


PARTS_MAX: Final = 1 << 26
IN_PLACE: Final = 1 << 31
_SPOOLED: Final = 1 << 30
"""Flags in the number of a file range: its text is in the file itself, or in a spool, whose number
times PARTS_MAX is added as well."""

checksum = xxhash.xxh3_64_intdigest
"""Distinguishes texts with the same time, and detects files that change during the import."""


def in_spool(number: int) -> int:
    """Returns the flags for texts in the spool with this number."""
    return _SPOOLED | number * PARTS_MAX


class ChangedError(VedetteError):
    """A file has changed since it was first read."""


class Spool:
    """A temporary file of texts. One process writes it, and others read it."""

    def __init__(self, number: int = 0, file: IO[bytes] | None = None) -> None:
        """`file` is the file where another process made it; otherwise a temporary file is made."""
        self.number = number
        self.size = 0
        self._file = file

    def write(self, texts: list[bytes]) -> None:
        """Appends texts, with a byte after each."""
        file = self._opened()
        written = b"\n".join(texts)
        file.write(written)
        file.write(b"\n")
        self.size += len(written) + 1

    def fileno(self) -> int:
        """Flushes, and returns the descriptor to read from."""
        file = self._opened()
        file.flush()
        return file.fileno()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(  # noqa: SIM115
                "w+b", TEXT_SPOOL_BUFFER_BYTES, prefix="vedette-import-"
            )
        return self._file


class TextStore:
    """Reads the texts of a sequence from spools and file ranges."""

    def __init__(self) -> None:
        self._spools: dict[int, Spool] = {}
        self._paths: dict[int, str] = {}
        self._open: OrderedDict[str, int] = OrderedDict()
        """LRU cache of descriptors."""
        self._block = lru_cache(TEXT_SPOOL_BLOCKS_CACHED_MAX)(self._read_block)

    def add_spool(self, spool: Spool) -> None:
        self._spools[spool.number] = spool

    def add_part(self, number: int, path: Path) -> None:
        """Registers a file range under a number. Raises OSError."""
        self._paths[number] = str(path)
        self._descriptor(str(path))

    def read(self, part: int, checked: int, offset: int, length: int) -> bytes:
        """The text at an offset of a file range; `part` has the flags that say where it is. Raises
        ChangedError when the text does not have the checksum `checked`."""
        file: str | int
        if part & IN_PLACE:
            file = self._paths[part ^ IN_PLACE]
        else:
            file = (part ^ _SPOOLED) // PARTS_MAX
        block, at = divmod(offset, TEXT_SPOOL_BLOCK_BYTES)
        text = self._block(file, block)[at : at + length]
        while len(text) < length:
            block += 1
            more = self._block(file, block)[: length - len(text)]
            if not more:
                break
            text += more
        if checksum(text) != checked:
            name = "the temporary file" if isinstance(file, int) else file
            raise ChangedError(f"{name} has changed while it was imported: import it again")
        return text

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()
        self._block.cache_clear()
        for spool in self._spools.values():
            spool.close()

    def _read_block(self, file: str | int, number: int) -> bytes:
        try:
            descriptor = (
                self._spools[file].fileno() if isinstance(file, int) else self._descriptor(file)
            )
            return os.pread(descriptor, TEXT_SPOOL_BLOCK_BYTES, number * TEXT_SPOOL_BLOCK_BYTES)
        except OSError as error:
            raise ChangedError(f"{file}: {error.strerror}") from error

    def _descriptor(self, path: str) -> int:
        found = self._open.get(path)
        if found is None:
            found = self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            while len(self._open) > TEXT_SPOOL_OPEN_FILES_MAX:
                os.close(self._open.popitem(last=False)[1])
        else:
            self._open.move_to_end(path)
        return found
