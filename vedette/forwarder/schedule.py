"""Decides which forwarders get a thread: the one that has waited longest is next.

A forwarder that has waited for its destination for several seconds counts as slow, and another one
may run in its place. The total number of forwarders is limited, which also limits the memory that
they use.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from vedette.limits import FORWARD_THREADS_MAX, Limit
from vedette.state.jobs.forwarders import Forwarder

FORWARD_THREADS: Limit[int] = 4
"""Forwarders that read and send at the same time. More would gain nothing on the cores of a
server."""

FORWARD_SLOW_S: Limit[float] = 5.0
"""Seconds for one file after which a forwarder counts as slow, and another one may run in its
place."""

FORWARD_THREADS_FAILING: Limit[int] = 2
"""Failing forwarders that may run at the same time, so that working ones always find a thread."""


@dataclass(slots=True)
class _Turn:
    is_failing: bool
    sending_since_s: float | None = None

    def is_slow(self, now_s: float) -> bool:
        return self.sending_since_s is not None and now_s - self.sending_since_s > FORWARD_SLOW_S


class Turns:
    """The forwarders that have a thread, and the times at which the others are due. Safe to share
    between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, _Turn] = {}
        self._next: dict[str, tuple[int, float]] = {}
        """Maps forwarder id to (time of the last configuration change, monotonic time (s) at which
        it is due)."""

    def due(self, known: Sequence[Forwarder]) -> list[Forwarder]:
        """Returns the forwarders that are enabled and due, the longest due first. A forwarder that
        was changed is due at once. `known` are all existing forwarders."""
        now_s = time.monotonic()
        with self._lock:
            last = {one.id: self._next.get(one.id, (0, 0.0)) for one in known}
            self._next = last
        due_s = {one.id: _due_s(one, last[one.id]) for one in known}
        found = [one for one in known if one.enabled and due_s[one.id] <= now_s]
        return sorted(found, key=lambda one: due_s[one.id])

    def begin(self, forwarder_id: str, *, is_failing: bool) -> bool:
        """Takes a thread for a forwarder. Returns False if it already has one, or if none is free
        for it."""
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
        """Marks that a forwarder waits for its destination."""
        turn = self._running[forwarder_id]
        turn.sending_since_s = time.monotonic()
        try:
            yield
        finally:
            turn.sending_since_s = None

    def end(self, served: Forwarder, wait_s: float) -> None:
        """Releases the thread. The forwarder is due again after `wait_s` seconds."""
        with self._lock:
            del self._running[served.id]
            self._next[served.id] = (served.changed_us, time.monotonic() + wait_s)


def _due_s(one: Forwarder, last: tuple[int, float]) -> float:
    changed_us, next_s = last
    return next_s if changed_us == one.changed_us else 0.0
