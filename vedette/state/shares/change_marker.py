"""Detects changes of the state database by any process, so that background jobs can skip work.

SQLite's `data_version` changes after each commit of another connection, in this process or another,
and reading it costs a few microseconds. The connection here never writes, so every commit counts.
PostgreSQL has no such number: every reading is None, and callers assume changes.
"""

import sqlite3
from threading import Lock

from vedette.state.db.database import Database


class ChangeMarker:
    """Reads a number that changes with every commit. Thread-safe."""

    def __init__(self, database: Database) -> None:
        url = database.engine.url
        self._lock = Lock()
        self._connection: sqlite3.Connection | None = None
        if url.get_backend_name() == "sqlite" and url.database:
            self._connection = sqlite3.connect(
                url.database, timeout=0, isolation_level=None, check_same_thread=False
            )

    def read(self) -> int | None:
        """Returns the number; equal readings mean that nothing was committed in between. None:
        unknown."""
        with self._lock:
            if self._connection is None:
                return None
            try:
                row = self._connection.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error:
                return None
        return int(row[0])

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
