"""What of a table is audited: the value of `info["audited"]` in its definition; and the keys that
the database gives to rows, which name them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.exc import InvalidRequestError

from vedette.limits import AUDIT_TARGET_CHARS_MAX


@dataclass(frozen=True, slots=True)
class Audited:
    """What of a table is audited."""

    kind: str
    """What a row is, e.g. `user`."""
    name: tuple[str, ...]
    """The columns that name a row among its kind."""
    columns: frozenset[str] | None = None
    """The columns whose changes count; None for all."""
    secrets: frozenset[str] = frozenset()
    """Columns of which only is shown whether they are set: secrets, and what is too long."""
    urls: frozenset[str] = frozenset()
    """Columns with addresses, which are shown without credentials (`shown_url`)."""
    deleted: str = ""
    """The column that marks a row as deleted when it is not 0; "" where rows are removed."""

    def exists(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is there for those who use it."""
        return not (self.deleted and row.get(self.deleted))

    def target(self, row: Mapping[str, Any]) -> str:
        """The name of a row."""
        return "/".join(str(row.get(name, "")) for name in self.name)[:AUDIT_TARGET_CHARS_MAX]


def audited(
    kind: str,
    *name: str,
    only: tuple[str, ...] = (),
    secrets: tuple[str, ...] = (),
    urls: tuple[str, ...] = (),
    deleted: str = "",
) -> dict[str, Audited]:
    """The `info` of a table: what its rows are, and the columns that name one."""
    marks = (deleted,) if deleted else ()
    columns = frozenset((*only, *secrets, *urls, *marks)) if only else None
    found = Audited(kind, name, columns, frozenset(secrets), frozenset(urls), deleted)
    return {"audited": found}


def given_key(connection: Connection, table: Table, result: Any) -> dict[str, Any]:
    """The primary key of the one row of an INSERT, where the database has made it."""
    try:
        key = result.inserted_primary_key or ()
    except InvalidRequestError:  # RETURNING: its rows are the caller's to read
        return _counted_key(connection, table, result)
    names = [column.name for column in table.primary_key]
    return {name: value for name, value in zip(names, key, strict=False) if value is not None}


def _counted_key(connection: Connection, table: Table, result: Any) -> dict[str, Any]:
    """The number that this connection's last INSERT got from the table's counter."""
    column = table.autoincrement_column
    if column is None or column.name in result.context.compiled_parameters[0]:
        return {}
    if connection.dialect.name == "postgresql":
        counter = func.pg_get_serial_sequence(table.name, column.name)
        number = connection.scalar(select(func.currval(counter)))
    else:
        number = connection.scalar(select(func.last_insert_rowid()))
    return {column.name: number}
