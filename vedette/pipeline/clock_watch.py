"""Saves the trusted time, logs doubts about the clock, and applies an operator's confirmation."""

import time

import structlog

from vedette.limits import Limit
from vedette.state.clock.guard import ClockGuard
from vedette.state.clock.record import load_confirmation, save_reading
from vedette.state.db.database import Database

CLOCK_SAVE_S: Limit[int] = 60
"""Interval between two writes of the trusted time to the state database."""


log = structlog.get_logger(__name__)


class ClockWatch:
    """One server's check of its clock; `look` is a background job."""

    def __init__(self, guard: ClockGuard, database: Database, applied: str) -> None:
        """`applied` is the confirmation (`load_confirmation`) that was current when the guard
        started."""
        self._guard = guard
        self._database = database
        self._applied = applied
        self._logged = ""
        self._saved_s = 0.0

    def look(self) -> None:
        """Checks the clock. Call it every few seconds. Raises UnavailableError."""
        confirmation = load_confirmation(self._database)
        if confirmation != self._applied:
            self._applied = confirmation
            if self._guard.deletion_hold():
                self._guard.confirm()
                log.warning("the clock was confirmed")
        hold = self._guard.deletion_hold()
        if hold and not self._logged:
            log.error("the clock is in doubt", doubt=hold, ingest=not self._guard.doubt())
        self._logged = hold
        if time.monotonic() - self._saved_s >= CLOCK_SAVE_S:
            self.save()

    def save(self) -> None:
        """Saves the trusted time. Call it at shutdown, too."""
        reading = self._guard.trusted_reading()
        if reading is not None:
            save_reading(self._database, reading)
            self._saved_s = time.monotonic()
