"""Progress of worker processes, readable by the server while a worker is busy or stopped.

Each worker has a slot of three 64-bit words in memory shared with the server: a step counter, the
number of the submission it works on, and the position of the record within its portion of that
submission. Writing a slot costs tens of nanoseconds, so a worker reports every record; a message
per record would not be affordable, and a worker that is stuck cannot send one.
"""

import mmap
import os
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

_WORDS: Final = 3
_STEPS, _SUBMISSION, _POSITION = range(_WORDS)
_SLOT_BYTES: Final = 64
"""A cache line each, so that workers do not slow each other down."""


class Progress(NamedTuple):
    """What a slot holds. Two equal readings in a row mean that nothing was done in between."""

    steps: int
    submission: int
    """Number of the submission (`Deliver.number`); 0 while no record is being worked on."""
    position: int
    """Index of the record in the portion of that submission that the worker got."""


class ProgressReporter(Protocol):
    """Where record processing reports what it is working on."""

    def submission(self, number: int) -> None:
        """The records that follow are of this submission; 0: no record is being worked on."""

    @property
    def position(self) -> Callable[[int], None]:
        """Reports that the record at an index is being worked on."""


class NoProgress:
    """`ProgressReporter` for processing in the server's own process, which nobody supervises."""

    def submission(self, number: int) -> None:
        """Ignored."""

    def position(self, position: int) -> None:
        """Ignored."""


class ProgressSlot:
    """One worker's slot, written by the worker and read by the server."""

    def __init__(self, words: memoryview) -> None:
        self._words = words
        self.position: Callable[[int], None] = partial(words.__setitem__, _POSITION)
        """`ProgressReporter.position`, as a built-in: it is called for every record."""

    def submission(self, number: int) -> None:
        self._words[_STEPS] += 1
        self._words[_POSITION] = 0
        self._words[_SUBMISSION] = number

    def read(self) -> Progress:
        return Progress(*self._words[:_WORDS])


class ProgressMemory:
    """Anonymous shared memory with one slot per worker; `fd` is inherited by the workers."""

    def __init__(self, fd: int, count: int) -> None:
        self._words = memoryview(mmap.mmap(fd, count * _SLOT_BYTES)).cast("Q")

    def slot(self, number: int) -> ProgressSlot:
        first = number * _SLOT_BYTES // 8
        return ProgressSlot(self._words[first : first + _WORDS])


def create_progress_fd(count: int) -> int:
    """A file descriptor of zeroed shared memory for `count` slots; the caller closes it."""
    fd = os.memfd_create("vedette-progress")
    os.ftruncate(fd, count * _SLOT_BYTES)
    return fd
