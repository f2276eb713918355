"""Consistent copy of an SQLite state database while other connections write to it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from vedette.errors import ConflictError, UnavailableError
from vedette.state.db.database import Database


class StateSnapshot:
    """A read transaction, which fixes the moment of the copy."""

    def __init__(self, source: sqlite3.Connection) -> None:
        self._source = source

    def copy(self, path: Path) -> None:
        """Writes the database, as of the transaction's start, to a new file."""
        try:
            with closing(sqlite3.connect(path)) as target:
                self._source.backup(target)
                target.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.Error as error:
            raise UnavailableError(f"the state database cannot be copied: {error}") from error


@contextmanager
def open_snapshot(database: Database) -> Iterator[StateSnapshot]:
    """Opens a snapshot; writers continue meanwhile. Raises ConflictError for PostgreSQL, which has
    its own backup tools."""
    url = database.engine.url
    if url.get_backend_name() != "sqlite" or not url.database:
        raise ConflictError("the state is in PostgreSQL: back it up with pg_dump")
    source = sqlite3.connect(url.database, isolation_level=None, check_same_thread=False)
    try:
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM alembic_version").fetchone()  # starts the snapshot
        yield StateSnapshot(source)
    finally:
        source.close()
