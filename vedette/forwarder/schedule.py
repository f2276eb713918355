"""Which forwarders may have a thread: who has waited longest is next.

One that has been waiting for its destination for seconds counts as slow and leaves its place to
another. There is a bound on all of them, so that what they hold in memory has one.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from vedette.limits import (
    FORWARD_SLOW_S,
    FORWARD_THREADS,
    FORWARD_THREADS_FAILING,
    FORWARD_THREADS_MAX,
)
from vedette.state.jobs.forwarders import Forwarder


@dataclass(slots=True)
class _Turn:
    is_failing: bool
    sending_since_s: float | None = None

    def is_slow(self, now_s: float) -> bool:
        return self.sending_since_s is not None and now_s - self.sending_since_s > FORWARD_SLOW_S


class Turns:
    """The forwarders that have a thread, and when the others are due. Safe to share between
    threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, _Turn] = {}
        self._next: dict[str, tuple[int, float]] = {}
        """Of each: when it had been changed as it was served, and when it is due again."""

    def due(self, known: Sequence[Forwarder]) -> list[Forwarder]:
        """Those that are enabled and whose time has come, the longest due first. What was changed
        is due at once. `known` are all that there are."""
        now_s = time.monotonic()
        with self._lock:
            last = {one.id: self._next.get(one.id, (0, 0.0)) for one in known}
            self._next = last
        due_s = {one.id: _due_s(one, last[one.id]) for one in known}
        found = [one for one in known if one.enabled and due_s[one.id] <= now_s]
        return sorted(found, key=lambda one: due_s[one.id])

    def begin(self, forwarder_id: str, *, is_failing: bool) -> bool:
        """Takes a thread for a forwarder; False where it has one, or there is none for it."""
        now_s = time.monotonic()
        with self._lock:
            turns = self._running.values()
            quick = sum(not turn.is_slow(now_s) for turn in turns)
            is_full = quick >= FORWARD_THREADS or len(turns) >= FORWARD_THREADS_MAX
            if is_failing:
                is_full |= sum(turn.is_failing for turn in turns) >= FORWARD_THREADS_FAILING
            if forwarder_id in self._running or is_full:
                return False
            self._running[forwarder_id] = _Turn(is_failing)
            return True

    @contextmanager
    def sending(self, forwarder_id: str) -> Iterator[None]:
        """While a forwarder waits for its destination."""
        turn = self._running[forwarder_id]
        turn.sending_since_s = time.monotonic()
        try:
            yield
        finally:
            turn.sending_since_s = None

    def end(self, served: Forwarder, wait_s: float) -> None:
        """Gives the thread back; the forwarder is due after so many seconds."""
        with self._lock:
            del self._running[served.id]
            self._next[served.id] = (served.changed_us, time.monotonic() + wait_s)


def _due_s(one: Forwarder, last: tuple[int, float]) -> float:
    changed_us, next_s = last
    return next_s if changed_us == one.changed_us else 0.0
