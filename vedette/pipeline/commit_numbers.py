"""Numbers of commits (`seq`), and the number up to which all commits have ended, which followers of
commits wait for. `LocalNumbers` serves the only server of a store; several servers share their
numbers (`vedette/servers/shared_numbers.py`)."""

from threading import Lock
from typing import Protocol

_UNDER_WAY = 3
"""Maximum number of open commits: one being written, one waiting, one just processed."""


class CommitNumbers(Protocol):
    """Methods belong to the threads of the ingest queue, except `settled`, which is thread-safe."""

    def begin(self) -> int:
        """Returns the number of a new commit, greater than all before. Raises UnavailableError."""

    def ended(self, seq: int) -> None:
        """Records that commit `seq` is stored, or that none of it was sent to the store."""

    def failed(self, seq: int) -> None:
        """Records that commit `seq` was sent to the store, which may have stored any part of it."""

    @property
    def settled(self) -> int:
        """The newest number that has ended together with all lower ones: the store will take no
        more of their rows. Raises UnavailableError."""

    def first_uncertain(self) -> int | None:
        """Returns the first commit that the store may have stored in part without the server's
        knowledge; None if there is none. Raises UnavailableError while that may still happen."""

    def recovered(self) -> None:
        """Call once the rows of failed commits have been read back."""


class LocalNumbers:
    """Commit numbers of the only server."""

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
        """Does nothing: failed numbers have already ended."""
