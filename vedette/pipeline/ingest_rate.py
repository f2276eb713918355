"""Current rate of incoming telemetry: requests answered over the last minute, in memory only."""

import threading
from collections import deque

from msgspec import Struct

from vedette.limits import Limit

INGEST_RATE_S: Limit[int] = 60
"""Seconds over which the ingest rate is averaged: shorter averages jump with each shipper's
batch."""


class _Second(Struct):
    """Records and bytes answered within one second."""

    number: int
    records: int = 0
    byte_count: int = 0


class PerSecond(Struct, frozen=True):
    """Mean over the last minute, or over the time since the start if that is shorter."""

    records: float
    byte_count: float


class IngestRate:
    """The ingest rate. Thread-safe. Times are seconds of one monotonic clock."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s
        self._lock = threading.Lock()
        self._seconds: deque[_Second] = deque()

    def note(self, records: int, byte_count: int, now_s: float) -> None:
        """Adds records that were answered, with the bytes of their requests."""
        number = int(now_s)
        with self._lock:
            self._forget(now_s)
            if not self._seconds or self._seconds[-1].number != number:
                self._seconds.append(_Second(number))
            newest = self._seconds[-1]
            newest.records += records
            newest.byte_count += byte_count

    def per_second(self, now_s: float) -> PerSecond:
        with self._lock:
            self._forget(now_s)
            records = sum(one.records for one in self._seconds)
            byte_count = sum(one.byte_count for one in self._seconds)
        time_s = max(min(now_s - self._began_s, INGEST_RATE_S), 1.0)
        return PerSecond(records / time_s, byte_count / time_s)

    def _forget(self, now_s: float) -> None:
        while self._seconds and self._seconds[0].number <= now_s - INGEST_RATE_S:
            self._seconds.popleft()
