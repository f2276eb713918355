"""The one place where the server reads the clock.

Modules below `pipeline` take the time as an argument. What runs on a clock takes a `Clock`, so that
a test can drive it. Times are integers: epoch microseconds (`*_us`) or epoch milliseconds (`*_ms`),
always UTC. `clock_guard.py` decides whether the wall clock can be trusted.
"""

import time
from pathlib import Path
from typing import Protocol

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """Wall time and elapsed time."""

    def now_us(self) -> int:
        """Returns epoch microseconds, UTC. Jumps when somebody sets the clock."""
        ...

    def elapsed_us(self) -> int:
        """Returns microseconds since the machine booted, including time in suspension. Never
        jumps."""
        ...

    def boot_id(self) -> str:
        """Identifies the boot that `elapsed_us` counts from; "" if it is not known."""
        ...


class SystemClock:
    """The clock of the host."""

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def elapsed_us(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000

    def boot_id(self) -> str:
        try:
            return _BOOT_ID.read_text().strip()
        except OSError:
            return ""


class DrivenClock:
    """A clock that only moves when it is advanced, for tests, the demo and replays."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us
        self._elapsed_us = 0

    def now_us(self) -> int:
        return self._now_us

    def elapsed_us(self) -> int:
        return self._elapsed_us

    def boot_id(self) -> str:
        return ""

    def advance(self, seconds: float) -> None:
        """Advances the wall clock and the elapsed time."""
        moved_us = int(seconds * 1_000_000)
        self._now_us += moved_us
        self._elapsed_us += moved_us

    def set_wall(self, now_us: int) -> None:
        """Sets the wall clock; the elapsed time stays the same."""
        self._now_us = now_us
