"""Detects that the wall clock was set, by comparing it with elapsed time.

A wrong clock must not lead to two actions: deleting telemetry by age, which is irreversible, and
rejecting records with times in the future, which shippers then drop.

    the clock was set by more than `CLOCK_JUMP_US`        no ingest (503), no deletion by age,
                                                          until it is set back or confirmed
    it is later than at the last stop by more than        no deletion by age until confirmed:
    `CLOCK_ABSENCE_US`, and the machine was rebooted      a long absence looks like a wrong clock

The state database stores the last trusted reading (`state/clock/record.py`). Without a reboot, the
guard detects a jump during a restart exactly. After a reboot the elapsed time is unknown, so the
guard only detects a clock that went back.
"""

import threading
from dataclasses import dataclass
from typing import Final

from vedette.clock import Clock
from vedette.errors import UnavailableError
from vedette.limits import Limit

CLOCK_JUMP_US: Limit[int] = 10 * 60 * 1_000_000
"""Difference (us) between wall clock and elapsed time above which the clock counts as set. NTP
corrects less, or gradually."""

CLOCK_ABSENCE_US: Limit[int] = 3 * 24 * 3600 * 1_000_000
"""Absence (us) across a reboot above which deletion by age waits for a confirmed time."""


_DAY_US: Final = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """Wall time (epoch) and elapsed time of one moment, in microseconds."""

    wall_us: int
    elapsed_us: int
    boot_id: str


class ClockGuard:
    """Judges the wall clock. Thread-safe; a check takes a microsecond."""

    def __init__(self, clock: Clock, saved: Reading | None = None) -> None:
        """`saved` is the last trusted reading of an earlier run."""
        self._clock = clock
        self._boot_id = clock.boot_id()
        self._lock = threading.Lock()
        now = self._read()
        is_same_boot = saved is not None and saved.boot_id == now.boot_id != ""
        self._is_exact = saved is None or is_same_boot
        """Whether the elapsed time since `_trusted` is known."""
        self._is_deletion_held = False
        if saved is None:
            self._trusted = now
        elif is_same_boot:
            self._trusted = saved
        else:
            self._trusted = Reading(saved.wall_us, now.elapsed_us, now.boot_id)

    def doubt(self) -> str:
        """Reason to doubt the clock, for people; "" while it is trusted."""
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
        """Reason to delete nothing by age, for people; "" while deletion is allowed."""
        with self._lock:
            doubt = self._judge()
            held = "the clock is far ahead of the last time the server ran"
            return doubt or (held if self._is_deletion_held else "")

    def trusted_reading(self) -> Reading | None:
        """Returns the reading to store; None while a confirmation is pending, so that it stays
        pending after a restart."""
        with self._lock:
            return None if self._judge() or self._is_deletion_held else self._trusted

    def confirm(self) -> None:
        """Accepts the present time, as confirmed by an operator."""
        with self._lock:
            self._trust(self._read())
            self._is_deletion_held = False

    def _judge(self) -> str:
        now = self._read()
        offset_us = now.wall_us - self._trusted.wall_us
        offset_us -= now.elapsed_us - self._trusted.elapsed_us
        if offset_us < -CLOCK_JUMP_US:
            return f"it moved back by {_days(-offset_us)}"
        if self._is_exact and offset_us > CLOCK_JUMP_US:
            return f"it jumped ahead by {_days(offset_us)}"
        if not self._is_exact and offset_us > CLOCK_ABSENCE_US:
            self._is_deletion_held = True
        self._trust(now)
        return ""

    def _trust(self, reading: Reading) -> None:
        self._trusted, self._is_exact = reading, True

    def _read(self) -> Reading:
        return Reading(self._clock.now_us(), self._clock.elapsed_us(), self._boot_id)


def _days(duration_us: int) -> str:
    return f"{duration_us / _DAY_US:.2f} days"
