"""Writes reports and indicators: one writer at a time, each with a later version.

The search of stored telemetry depends on the order: a report is written after its indicators, so
every indicator up to the newest version of reports has its report (`newest_added`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from vedette.clock import Clock
from vedette.state.db.database import Database
from vedette.store.engine.client import Engine
from vedette.store.read.threat.reports import latest_version

_REPORT_WRITERS: Final = "reports"
"""Name of the lock for reading, changing and writing reports."""


@contextmanager
def writing_reports(engine: Engine, database: Database, clock: Clock) -> Iterator[int]:
    """Holds the lock on reports across all servers.

    Yields the version for the writes: later than all stored versions, including those from servers
    whose clocks are ahead.
    """
    with database.exclusive(_REPORT_WRITERS):
        yield max(latest_version(engine) + 1, clock.now_us())
