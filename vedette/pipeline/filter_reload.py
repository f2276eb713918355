"""Reloads the write path's ingress filters when they change in the state database.

The server that changes a filter reloads at once; other servers at the next run of the background
job.
"""

from threading import Lock

from vedette.clock import Clock
from vedette.pipeline.workers.processor import CommitProcessor
from vedette.state.db.database import Database
from vedette.state.policy import filter_counts, filters


class FilterReloader:
    """Reloads filters (see the module docstring). Thread-safe."""

    def __init__(self, database: Database, processor: CommitProcessor, clock: Clock) -> None:
        self._database = database
        self._processor = processor
        self._clock = clock
        self._version = 0
        self._lock = Lock()

    def reload(self) -> None:
        """Loads the filters if their version changed. They apply to commits that begin later."""
        with self._lock:
            if filters.version(self._database) != self._version:
                version, found = filters.in_force(self._database)
                self._processor.use_filters(found)
                self._version = version

    def flush(self) -> None:
        """Writes the counts of the filters. Call it every few seconds, and at shutdown."""
        counts = self._processor.filter_counts()
        if counts.judged or counts.events:
            filter_counts.add(self._database, counts, self._clock.now_us())
