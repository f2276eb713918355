"""Detects that the wall clock was set, by comparing it with elapsed time.

Two things must not follow a wrong clock: deleting telemetry by its age, which cannot be undone, and
refusing records whose time seems to lie in the future, which shippers then drop.

    the clock was set by more than `CLOCK_JUMP_US`        no ingest (503), no deletion by age,
                                                          until it is set back or confirmed
    it is later than at the last stop by more than        no deletion by age until confirmed:
    `CLOCK_ABSENCE_US`, and the machine was rebooted      a long absence looks like a wrong clock

The last trusted reading is kept in the state database (`state/clock/record.py`). While the
machine is not rebooted, a jump during a restart is detected exactly; after a reboot the time that
passed is not known, so only a clock that went back is.
"""

import threading
from dataclasses import dataclass
from typing import Final

from vedette import limits
from vedette.clock import Clock
from vedette.errors import UnavailableError

_DAY_US: Final = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """Wall time (epoch) and elapsed time of one moment, in microseconds."""

    wall_us: int
    elapsed_us: int
    boot_id: str


class ClockGuard:
    """Whether the wall clock can be trusted. Thread-safe; a check costs a microsecond."""

    def __init__(self, clock: Clock, saved: Reading | None = None) -> None:
        """`saved` is the last trusted reading of an earlier run."""
        self._clock = clock
        self._boot_id = clock.boot_id()
        self._lock = threading.Lock()
        now = self._read()
        is_same_boot = saved is not None and saved.boot_id == now.boot_id != ""
        self._is_exact = saved is None or is_same_boot
        """Whether the time that passed since `_trusted` is known."""
        self._is_deletion_held = False
        if saved is None:
            self._trusted = now
        elif is_same_boot:
            self._trusted = saved
        else:
            self._trusted = Reading(saved.wall_us, now.elapsed_us, now.boot_id)

    def doubt(self) -> str:
        """Why the clock is in doubt, for people; "" while it is trusted."""
        with self._lock:
            return self._judge()

    def check(self) -> None:
        """Raises UnavailableError (`reason` "clock_in_doubt") while the clock is in doubt."""
        doubt = self.doubt()
        if doubt:
            raise UnavailableError(
                f"the server's clock is in doubt: {doubt}", reason="clock_in_doubt"
            )

    def deletion_hold(self) -> str:
        """Why nothing may be deleted by age, for people; "" while it may."""
        with self._lock:
            doubt = self._judge()
            held = "the clock is far ahead of the last time the server ran"
            return doubt or (held if self._is_deletion_held else "")

    def trusted_reading(self) -> Reading | None:
        """What to save; None while something waits for confirmation, so that it still does after
        a restart."""
        with self._lock:
            return None if self._judge() or self._is_deletion_held else self._trusted

    def confirm(self) -> None:
        """An operator says that the present time is right."""
        with self._lock:
            self._trust(self._read())
            self._is_deletion_held = False

    def _judge(self) -> str:
        now = self._read()
        offset_us = now.wall_us - self._trusted.wall_us
        offset_us -= now.elapsed_us - self._trusted.elapsed_us
        if offset_us < -limits.CLOCK_JUMP_US:
            return f"it went back by {_days(-offset_us)}"
        if self._is_exact and offset_us > limits.CLOCK_JUMP_US:
            return f"it jumped ahead by {_days(offset_us)}"
        if not self._is_exact and offset_us > limits.CLOCK_ABSENCE_US:
            self._is_deletion_held = True
        self._trust(now)
        return ""

    def _trust(self, reading: Reading) -> None:
        self._trusted, self._is_exact = reading, True

    def _read(self) -> Reading:
        return Reading(self._clock.now_us(), self._clock.elapsed_us(), self._boot_id)


def _days(duration_us: int) -> str:
    return f"{duration_us / _DAY_US:.2f} days"
