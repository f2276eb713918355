"""Texts that stay on disk until they are sent.

To sort records nothing is needed but their times. So the lines of a large plain file stay in it;
other texts, out of archives or EVTX, go to an unnamed temporary file, the spool. What is sorted
says where a text is (`importer/scan/record_scanner.py`), and here it is read again.
"""

import os
import tempfile
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import IO, Final

import xxhash

from vedette.errors import VedetteError

_OPEN_MAX: Final = 64
"""Files that are open at a time: a directory may hold many more than a process may open."""

_SPOOL_BUFFER_BYTES: Final = 1024 * 1024
_BLOCK_BYTES: Final = 64 * 1024
_BLOCKS_MAX: Final = 128
"""Blocks that are kept: texts come nearly as they lie, or in as many streams as a log has hosts."""

PARTS_MAX: Final = 1 << 26
IN_PLACE: Final = 1 << 31
_SPOOLED: Final = 1 << 30
"""Added to the number of the part that a text is of: it lies in its own file, or in a spool, whose
number times PARTS_MAX is added too."""

check = xxhash.xxh3_64_intdigest
"""What tells one text from another of the same time, and whether a file has changed meanwhile."""


def in_spool(number: int) -> int:
    """What is added for that spool."""
    return _SPOOLED | number * PARTS_MAX


class ChangedError(VedetteError):
    """A file is no longer what was read at first."""


class Spool:
    """Where texts go that have no place of their own. Who writes it is one, who reads others."""

    def __init__(self, number: int = 0, file: IO[bytes] | None = None) -> None:
        """`file` where it is shared with whoever reads."""
        self.number = number
        self.size = 0
        self._file = file

    def write(self, texts: list[bytes]) -> None:
        """Appends texts, with a byte after each."""
        file = self._made()
        written = b"\n".join(texts)
        file.write(written)
        file.write(b"\n")
        self.size += len(written) + 1

    def fileno(self) -> int:
        """All that was written can be read from it."""
        file = self._made()
        file.flush()
        return file.fileno()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _made(self) -> IO[bytes]:
        if self._file is None:
            self._file = tempfile.TemporaryFile(  # noqa: SIM115
                "w+b", _SPOOL_BUFFER_BYTES, prefix="vedette-import-"
            )
        return self._file


class Texts:
    """The texts of a sequence: in spools, and in parts of files."""

    def __init__(self) -> None:
        self._spools: dict[int, Spool] = {}
        self._paths: dict[int, str] = {}
        self._open: OrderedDict[str, int] = OrderedDict()
        """Descriptors, the one used last at the end."""
        self._block = lru_cache(_BLOCKS_MAX)(self._read_block)

    def add_spool(self, spool: Spool) -> None:
        self._spools[spool.number] = spool

    def add_part(self, number: int, path: Path) -> None:
        """From now on a part of a file has this number. Raises OSError."""
        self._paths[number] = str(path)
        self._descriptor(str(path))

    def read(self, part: int, checked: int, offset: int, length: int) -> bytes:
        """The text of a part, to whose number it was added where the text lies. Raises ChangedError
        when it is not what `check` has made `checked` of."""
        file: str | int
        if part & IN_PLACE:
            file = self._paths[part ^ IN_PLACE]
        else:
            file = (part ^ _SPOOLED) // PARTS_MAX
        block, at = divmod(offset, _BLOCK_BYTES)
        text = self._block(file, block)[at : at + length]
        while len(text) < length:
            block += 1
            more = self._block(file, block)[: length - len(text)]
            if not more:
                break
            text += more
        if check(text) != checked:
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
            return os.pread(descriptor, _BLOCK_BYTES, number * _BLOCK_BYTES)
        except OSError as error:
            raise ChangedError(f"{file}: {error.strerror}") from error

    def _descriptor(self, path: str) -> int:
        found = self._open.get(path)
        if found is None:
            found = self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            while len(self._open) > _OPEN_MAX:
                os.close(self._open.popitem(last=False)[1])
        else:
            self._open.move_to_end(path)
        return found
