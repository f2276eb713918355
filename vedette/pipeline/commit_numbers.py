"""Numbers of commits (`seq`), and up to which of them all are over: what followers of commits wait
for. `LocalNumbers` are those of the only server of a store; several servers share theirs
(`vedette/servers/shared_numbers.py`)."""

from threading import Lock
from typing import Protocol

_UNDER_WAY = 3
"""Commits at most: one written, one waiting, one just processed."""


class CommitNumbers(Protocol):
    """Methods belong to the threads of the ingest queue, except `settled`, which is thread-safe."""

    def begin(self) -> int:
        """The number of a new commit, greater than all before. Raises UnavailableError."""

    def ended(self, seq: int) -> None:
        """Commit `seq` is stored, or nothing of it was sent to the store."""

    def failed(self, seq: int) -> None:
        """Commit `seq` was sent to the store, which may have stored any part of it."""

    @property
    def settled(self) -> int:
        """The newest number that is over, with all lower ones: nothing of them will be stored any
        more. Raises UnavailableError."""

    def first_uncertain(self) -> int | None:
        """The first commit of which any part may have been stored unnoticed; None without one.
        Raises UnavailableError while that may still happen."""

    def recovered(self) -> None:
        """What failed commits did store was read back."""


class LocalNumbers:
    """Numbers of the only server."""

    def __init__(self, first_seq: int) -> None:
        self._next = first_seq
        self._open: set[int] = set()
        self._lock = Lock()

    def begin(self) -> int:
        with self._lock:
            seq = self._next
            self._next += 1
            self._open.add(seq)
        return seq

    def ended(self, seq: int) -> None:
        with self._lock:
            self._open.discard(seq)

    def failed(self, seq: int) -> None:
        self.ended(seq)

    @property
    def settled(self) -> int:
        with self._lock:
            return min(self._open, default=self._next) - 1

    def first_uncertain(self) -> int:
        return max(0, self._next - _UNDER_WAY)

    def recovered(self) -> None:
        """Nothing to do: numbers that failed are over."""
