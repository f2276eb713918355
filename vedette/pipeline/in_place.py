"""Texts that stay on disk until they are sent.

To sort records nothing is needed but their times. So the lines of a large plain file stay in it;
other texts, out of archives or EVTX, go to an unnamed temporary file, the spool. What is sorted
says where a text is (`records.py`), and here it is read again.
"""

import os
import tempfile
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import IO, Final

import xxhash

from vedette.errors import VedetteError

SPOOL: Final = -1
"""In place of the number of a file."""

_OPEN_MAX: Final = 64
"""Files that are open at a time: a directory may hold many more than a process may open."""

_SPOOL_BUFFER_BYTES: Final = 1024 * 1024
_BLOCK_BYTES: Final = 64 * 1024
_BLOCKS_MAX: Final = 128
"""Blocks that are kept: texts come nearly as they lie, or in as many streams as a log has hosts."""

check = xxhash.xxh3_64_intdigest
"""What tells one text from another of the same time, and whether a file has changed meanwhile."""


class ChangedError(VedetteError):
    """A file is no longer what was read at first."""


class Texts:
    """The texts of a sequence, by file and offset. First all are written, then read."""

    def __init__(self) -> None:
        self.spooled = 0
        """Bytes in the spool."""
        self._paths: dict[int, Path] = {}
        self._open: OrderedDict[int, int] = OrderedDict()
        """Descriptors by file, the one used last at the end."""
        self._spool: IO[bytes] | None = None
        self._block = lru_cache(_BLOCKS_MAX)(self._read_block)

    def add(self, file: int, path: Path) -> None:
        """From now on a file has this number. Raises OSError."""
        if file in self._open:  # what had the number before was no log
            os.close(self._open.pop(file))
        self._paths[file] = path
        self._descriptor(file)

    def spool(self, texts: list[bytes]) -> None:
        """Appends texts, with a byte after each."""
        file = self._spool = self._spool or _new_spool()
        written = b"\n".join(texts)
        file.write(written)
        file.write(b"\n")
        self.spooled += len(written) + 1

    def read(self, file: int, offset: int, length: int, checked: int) -> bytes:
        """A text. Raises ChangedError when it is not what `check` has seen."""
        block, at = divmod(offset, _BLOCK_BYTES)
        text = self._block(file, block)[at : at + length]
        while len(text) < length:
            block += 1
            more = self._block(file, block)[: length - len(text)]
            if not more:
                break
            text += more
        if check(text) != checked:
            name = self._paths.get(file, "the temporary file")
            raise ChangedError(f"{name} has changed while it was imported: import it again")
        return text

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()
        self._block.cache_clear()
        if self._spool is not None:
            self._spool.close()

    def _read_block(self, file: int, number: int) -> bytes:
        at = number * _BLOCK_BYTES
        if file == SPOOL:
            assert self._spool is not None, "only what was spooled is read"
            self._spool.flush()
            return os.pread(self._spool.fileno(), _BLOCK_BYTES, at)
        try:
            return os.pread(self._descriptor(file), _BLOCK_BYTES, at)
        except OSError as error:
            raise ChangedError(f"{self._paths[file]}: {error.strerror}") from error

    def _descriptor(self, file: int) -> int:
        found = self._open.get(file)
        if found is None:
            found = self._open[file] = os.open(self._paths[file], os.O_RDONLY | os.O_CLOEXEC)
            while len(self._open) > _OPEN_MAX:
                os.close(self._open.popitem(last=False)[1])
        else:
            self._open.move_to_end(file)
        return found


def _new_spool() -> IO[bytes]:
    return tempfile.TemporaryFile("w+b", _SPOOL_BUFFER_BYTES, prefix="vedette-import-")
