"""Statements that run for many rows at once, hundreds of times a second.

SQLAlchemy processes the parameters of every row, which takes longer than SQLite's write. This
module compiles a statement once per database and passes rows to the driver unprocessed, so values
must have types that the driver accepts: numbers, strings, booleans and None.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.sql.dml import UpdateBase


class BulkStatement:
    """An INSERT, UPDATE or DELETE with `bindparam`s. Safe to share between threads."""

    def __init__(self, statement: UpdateBase) -> None:
        self._statement = statement
        self._compiled: dict[str, tuple[str, list[str] | None]] = {}

    def execute(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Executes the statement for each row, with values keyed by the names of the
        `bindparam`s."""
        text, names = self._compiled.get(connection.dialect.name) or self._compile(connection)
        given: list[Any] = list(rows)
        if names is not None:
            given = [tuple([row[name] for name in names]) for row in rows]
        connection.exec_driver_sql(text, given)

    def _compile(self, connection: Connection) -> tuple[str, list[str] | None]:
        """Returns the SQL text, and the parameter order if the driver binds by position."""
        made = self._statement.compile(dialect=connection.dialect)
        known = str(made), list(made.positiontup or ()) if made.positional else None
        self._compiled[connection.dialect.name] = known
        return known
