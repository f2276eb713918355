"""The one place that reads the clock.

Everything below `pipeline` takes time as an argument; what runs on a clock takes a
`Clock`, so that a test can drive it. Times are integers: epoch microseconds (`*_us`)
or epoch milliseconds (`*_ms`), always UTC.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Something that tells the time as epoch microseconds, UTC."""

    def now_us(self) -> int: ...


class SystemClock:
    """The host's clock."""

    def now_us(self) -> int:
        return time.time_ns() // 1_000


class DrivenClock:
    """A clock that only moves when told to: for tests, the demo and replays."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    def advance(self, seconds: float) -> None:
        self._now_us += int(seconds * 1_000_000)
