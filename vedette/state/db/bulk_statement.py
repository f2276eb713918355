"""Statements that run for many rows at once, hundreds of times a second.

SQLAlchemy processes the parameters of every row, which takes longer than SQLite needs to write the
row. Here a statement is compiled once for a database, and rows go to the driver unprocessed, so
values must be what the driver takes: numbers, texts, booleans and None.
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
        """Execute the statement for each row, with values by the names of the `bindparam`s."""
        text, names = self._compiled.get(connection.dialect.name) or self._compile(connection)
        given: list[Any] = list(rows)
        if names is not None:
            given = [tuple([row[name] for name in names]) for row in rows]
        connection.exec_driver_sql(text, given)

    def _compile(self, connection: Connection) -> tuple[str, list[str] | None]:
        """The text, and the order of the values where the driver takes them by position."""
        made = self._statement.compile(dialect=connection.dialect)
        known = str(made), list(made.positiontup or ()) if made.positional else None
        self._compiled[connection.dialect.name] = known
        return known
