"""Reloads the privacy settings of sensor groups when they change in the state database.

The server that changes a group reloads at once. Other servers, and all servers after a change by a
command, reload at the next run of the background job. The first load happens before any ingest.
"""

from threading import Lock

from vedette.pipeline.workers.processor import CommitProcessor
from vedette.state.db.database import Database
from vedette.state.policy import privacy


class PrivacyReloader:
    """Reloads privacy settings (see the module docstring). Thread-safe."""

    def __init__(self, database: Database, processor: CommitProcessor) -> None:
        self._database = database
        self._processor = processor
        self._known = privacy.NOTHING_HIDDEN
        self._lock = Lock()

    def reload(self) -> None:
        """Loads the settings if they changed. They apply to commits that begin later."""
        with self._lock:
            found = privacy.load(self._database)
            if found != self._known:
                self._processor.use_privacy(found)
                self._known = found
