"""Saves the trusted time, logs doubts of the clock, and applies an operator's confirmation."""

import time

import structlog

from vedette import limits
from vedette.state.clock.guard import ClockGuard
from vedette.state.clock.record import load_confirmation, save_reading
from vedette.state.db.database import Database

log = structlog.get_logger(__name__)


class ClockWatch:
    """One server's look at its clock; `look` is a background job."""

    def __init__(self, guard: ClockGuard, database: Database, applied: str) -> None:
        """`applied` is the confirmation (`load_confirmation`) that the guard began after."""
        self._guard = guard
        self._database = database
        self._applied = applied
        self._logged = ""
        self._saved_s = 0.0

    def look(self) -> None:
        """Call it every few seconds. Raises UnavailableError."""
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
        if time.monotonic() - self._saved_s >= limits.CLOCK_SAVE_S:
            self.save()

    def save(self) -> None:
        """Call it at the end, too."""
        reading = self._guard.trusted_reading()
        if reading is not None:
            save_reading(self._database, reading)
            self._saved_s = time.monotonic()
