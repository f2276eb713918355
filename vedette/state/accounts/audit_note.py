"""Writes audit entries into a data directory, with or without a running server.

`vedette backup` and `vedette restore` also handle directories of other versions. This module never
migrates a database, and it refuses an audit log with a different schema.
"""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect

from vedette.errors import UnavailableError
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import open_database
from vedette.state.db.schema_audit import AUDIT, AUDIT_HEAD

_STATE_FILE: Final = "state.db"


def note_in(data: Path, entry: Entry, author: Author) -> None:
    """Writes an entry into the audit log of the state database in `data`.

    Raises UnavailableError if that is impossible: a different schema, no state database, a full
    disk.
    """
    if not (data / _STATE_FILE).is_file():
        raise UnavailableError(f"no {_STATE_FILE} in {data}")
    database = open_database("", data)
    try:
        with database.reading() as connection:
            _check_form(connection)
        with acting_as(author):
            audit_trail.record(database, entry)
    finally:
        database.close()


def _check_form(connection: Connection) -> None:
    found = inspect(connection)
    for table in (AUDIT, AUDIT_HEAD):
        wanted = {column.name for column in table.columns}
        known = found.has_table(table.name)
        if not known or {column["name"] for column in found.get_columns(table.name)} != wanted:
            raise UnavailableError("its audit log is from a different version")
