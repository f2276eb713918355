"""Writing reports and indicators: one writer at a time, each with a later version.

The search of the past relies on it: a report is written after its indicators, so that every
indicator up to the newest version of reports has its report (`newest_added`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from vedette.clock import Clock
from vedette.state.db.database import Database
from vedette.store.engine.client import Engine
from vedette.store.read.threat.reports import latest_version

_REPORT_WRITERS: Final = "reports"
"""Name of the exclusion of all who read, change and write reports."""


@contextmanager
def writing_reports(engine: Engine, database: Database, clock: Clock) -> Iterator[int]:
    """Within it nobody else reads, changes and writes reports, on any server.

    The value is the version of what is written: later than all that is stored, also by servers
    whose clocks are ahead.
    """
    with database.exclusive(_REPORT_WRITERS):
        yield max(latest_version(engine) + 1, clock.now_us())
