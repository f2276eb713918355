"""Keeps the write path's ingress filters those of the state database, without a restart.

The server that changes a filter looks at once; all others when their timer comes. Filters are
handed to whoever prepares commits.
"""

from threading import Lock

from vedette.clock import Clock
from vedette.pipeline.workers.processor import CommitProcessor
from vedette.state.db.database import Database
from vedette.state.policy import filters


class FilterReloader:
    """See the module. Safe to share between threads."""

    def __init__(self, database: Database, preparation: CommitProcessor, clock: Clock) -> None:
        self._database = database
        self._preparation = preparation
        self._clock = clock
        self._version = 0
        self._lock = Lock()

    def look(self) -> None:
        """Takes over what was changed. Commits that begin after it are judged by it."""
        with self._lock:
            if filters.version(self._database) != self._version:
                version, found = filters.load(self._database)
                self._preparation.use_filters(found)
                self._version = version

    def flush(self) -> None:
        """Writes how often filters meant processes. Call it every few seconds, and at the end."""
        looked_at, hits = self._preparation.filter_counts()
        if looked_at:
            filters.count_hits(self._database, looked_at, hits, self._clock.now_us())
