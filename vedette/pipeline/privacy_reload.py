"""Reloads what sensor groups hide when it changes in the state database.

The server that changes a group reloads at once; other servers, and after a command, at the next run
of the background job. The first load is before anything is taken in.
"""

from threading import Lock

from vedette.pipeline.workers.processor import CommitProcessor
from vedette.state.db.database import Database
from vedette.state.policy import privacy


class PrivacyReloader:
    """See the module. Thread-safe."""

    def __init__(self, database: Database, processor: CommitProcessor) -> None:
        self._database = database
        self._processor = processor
        self._known = privacy.NOTHING_HIDDEN
        self._lock = Lock()

    def reload(self) -> None:
        """Loads it if it changed. It applies to commits that begin later."""
        with self._lock:
            found = privacy.load(self._database)
            if found != self._known:
                self._processor.use_privacy(found)
                self._known = found
