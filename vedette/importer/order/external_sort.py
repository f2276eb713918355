"""External merge sort: sorted runs in an unnamed temporary file, then a merge.

Items are bytes, compared as such. Memory is bounded by IMPORT_SORT_BYTES_MAX.
"""

import heapq
import tempfile
from collections.abc import Iterator
from itertools import chain, pairwise
from struct import Struct
from typing import BinaryIO, NamedTuple

from vedette.limits import Limit

IMPORT_SORT_BYTES_MAX: Limit[int] = 256 * 1024 * 1024
"""Bytes of records that the importer sorts in memory. Beyond that, sorted runs are written to a
temporary file."""

IMPORT_SORT_ITEM_BYTES: Limit[int] = 64
"""Bytes of memory counted for a sorted item in addition to its content: the object and its
reference."""

IMPORT_SORT_READ_BYTES: Limit[int] = 256 * 1024
"""Bytes read at a time from each sorted run while runs are merged. Reads are long, and memory stays
small even with many runs."""


_LENGTH = Struct(">I")


class _Run(NamedTuple):
    """A sorted run in the temporary file: its offsets, first and last item."""

    begin: int
    end: int
    first: bytes
    last: bytes


class Sorter:
    """Takes items in any order. Iterating gives them sorted, and can be repeated."""

    def __init__(self, memory_bytes_max: int = IMPORT_SORT_BYTES_MAX) -> None:
        self._memory_bytes_max = memory_bytes_max
        self._items: list[bytes] = []
        self._bytes = 0
        self._file: BinaryIO | None = None
        self._runs: list[_Run] = []
        self.count = 0

    def extend(self, items: list[bytes]) -> None:
        self._items += items
        self._bytes += sum(map(len, items)) + IMPORT_SORT_ITEM_BYTES * len(items)
        self.count += len(items)
        if self._bytes > self._memory_bytes_max:
            self._spill()

    @property
    def is_in_memory(self) -> bool:
        return not self._runs

    def __iter__(self) -> Iterator[bytes]:
        """The items in order. Nothing may be added during iteration."""
        self._items.sort()
        if not self._runs:
            return iter(self._items)
        runs = sorted(self._runs, key=lambda run: run.first)
        streams = [self._read(run) for run in runs]
        if all(run.last <= later.first for run, later in pairwise(runs)) and (
            not self._items or runs[-1].last <= self._items[0]
        ):
            return chain(*streams, self._items)  # no overlap: the log was in order
        return heapq.merge(self._items, *streams)

    def close(self) -> None:
        self._items = []
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="vedette-import-")  # noqa: SIM115
        self._items.sort()
        begin = self._file.seek(0, 2)
        for item in self._items:
            self._file.write(_LENGTH.pack(len(item)) + item)
        run = _Run(begin, self._file.tell(), self._items[0], self._items[-1])
        self._runs.append(run)
        self._items = []
        self._bytes = 0

    def _read(self, run: _Run) -> Iterator[bytes]:
        """The items of one run; several runs are read from the file alternately."""
        assert self._file is not None
        begin, end = run.begin, run.end
        held = b""
        while begin < end or held:
            self._file.seek(begin)
            block = self._file.read(min(IMPORT_SORT_READ_BYTES, end - begin))
            begin += len(block)
            held += block
            at = 0
            while len(held) - at >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(held, at)
                if at + _LENGTH.size + length > len(held):
                    break
                at += _LENGTH.size
                yield held[at : at + length]
                at += length
            held = held[at:]
            if not block:
                return
