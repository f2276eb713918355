"""Progress of worker processes, readable by the server while a worker is busy or stopped.

Each worker has a slot of three 64-bit words in memory shared with the server: a step counter, the
number of the submission it works on, and the position of the record within its portion of that
submission. Writing a slot costs tens of nanoseconds, so a worker reports every record. A message
per record would cost too much, and a stuck worker cannot send one.
"""

import mmap
import os
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

_WORDS: Final = 3
_STEPS, _SUBMISSION, _POSITION = range(_WORDS)
_SLOT_BYTES: Final = 64
"""One cache line per slot, so that workers do not slow each other down."""


class Progress(NamedTuple):
    """The content of a slot. Two equal consecutive readings mean that nothing was done in
    between."""

    steps: int
    submission: int
    """Number of the submission (`Deliver.number`); 0 while no record is being processed."""
    position: int
    """Index of the record in the worker's portion of that submission."""


class ProgressReporter(Protocol):
    """Receives reports about the record that is being processed."""

    def submission(self, number: int) -> None:
        """Sets the submission of the records that follow; 0 while no record is being processed."""

    @property
    def position(self) -> Callable[[int], None]:
        """Callback that reports the index of the record being processed."""


class NoProgress:
    """`ProgressReporter` for processing in the server's own process, which has no supervisor."""

    def submission(self, number: int) -> None:
        """Ignores the number of the submission."""

    def position(self, position: int) -> None:
        """Ignores the index of the record."""


class ProgressSlot:
    """One worker's slot, written by the worker and read by the server."""

    def __init__(self, words: memoryview) -> None:
        self._words = words
        self.position: Callable[[int], None] = partial(words.__setitem__, _POSITION)
        """`ProgressReporter.position` as a built-in, because it is called for every record."""

    def submission(self, number: int) -> None:
        self._words[_STEPS] += 1
        self._words[_POSITION] = 0
        self._words[_SUBMISSION] = number

    def read(self) -> Progress:
        return Progress(*self._words[:_WORDS])


class ProgressMemory:
    """Anonymous shared memory with one slot per worker; the workers inherit `fd`."""

    def __init__(self, fd: int, count: int) -> None:
        self._words = memoryview(mmap.mmap(fd, count * _SLOT_BYTES)).cast("Q")

    def slot(self, number: int) -> ProgressSlot:
        first = number * _SLOT_BYTES // 8
        return ProgressSlot(self._words[first : first + _WORDS])


def create_progress_fd(count: int) -> int:
    """Returns a file descriptor of zeroed shared memory for `count` slots; the caller closes it."""
    fd = os.memfd_create("vedette-progress")
    os.ftruncate(fd, count * _SLOT_BYTES)
    return fd
