"""Audit definitions of tables (`info["audited"]`), and keys that the database generates for
rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.exc import InvalidRequestError

from vedette.limits import Limit

AUDIT_TARGET_CHARS_MAX: Limit[int] = 300
"""Characters of an object's name in an audit entry; host names fit."""


@dataclass(frozen=True, slots=True)
class Audited:
    """Defines which changes of a table the audit log records."""

    kind: str
    """Kind of object in a row, e.g. `user`."""
    name: tuple[str, ...]
    """Columns that name a row within its kind."""
    columns: frozenset[str] | None = None
    """Audited columns; None for all."""
    secrets: frozenset[str] = frozenset()
    """Columns for which entries only show whether they are set: secrets, and values that are too
    long."""
    urls: frozenset[str] = frozenset()
    """Columns with URLs, shown without credentials (`shown_url`)."""
    deleted: str = ""
    """Column that marks a row as deleted if it is not 0; "" if rows are removed."""

    def exists(self, row: Mapping[str, Any]) -> bool:
        """Whether a row exists for users: it is not marked as deleted."""
        return not (self.deleted and row.get(self.deleted))

    def target(self, row: Mapping[str, Any]) -> str:
        """Returns the name of a row."""
        return "/".join(str(row.get(name, "")) for name in self.name)[:AUDIT_TARGET_CHARS_MAX]


def audited(
    kind: str,
    *name: str,
    only: tuple[str, ...] = (),
    secrets: tuple[str, ...] = (),
    urls: tuple[str, ...] = (),
    deleted: str = "",
) -> dict[str, Audited]:
    """Returns the `info` of a table: the kind of its rows, and the columns that name a row."""
    marks = (deleted,) if deleted else ()
    columns = frozenset((*only, *secrets, *urls, *marks)) if only else None
    found = Audited(kind, name, columns, frozenset(secrets), frozenset(urls), deleted)
    return {"audited": found}


def given_key(connection: Connection, table: Table, result: Any) -> dict[str, Any]:
    """Returns the primary key that the database generated for the single row of an INSERT."""
    try:
        key = result.inserted_primary_key or ()
    except InvalidRequestError:  # RETURNING: the caller consumes its rows
        return _counted_key(connection, table, result)
    names = [column.name for column in table.primary_key]
    return {name: value for name, value in zip(names, key, strict=False) if value is not None}


def _counted_key(connection: Connection, table: Table, result: Any) -> dict[str, Any]:
    """Returns the number that the table's sequence gave to the last INSERT of this connection."""
    column = table.autoincrement_column
    if column is None or column.name in result.context.compiled_parameters[0]:
        return {}
    if connection.dialect.name == "postgresql":
        counter = func.pg_get_serial_sequence(table.name, column.name)
        number = connection.scalar(select(func.currval(counter)))
    else:
        number = connection.scalar(select(func.last_insert_rowid()))
    return {column.name: number}
