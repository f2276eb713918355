"""Key-value store for small values of the server itself."""

from sqlalchemy import Connection, Table, func, select, update

from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import VALUE


def load(database: Database, name: str) -> str | None:
    """The value of a key; None without one."""
    with database.reading() as connection:
        return connection.scalar(select(VALUE.c.value).where(VALUE.c.name == name))


def save(database: Database, name: str, value: str) -> None:
    """Durable when this returns."""
    with database.writing() as connection:
        put(connection, name, value)


def save_new(database: Database, name: str, value: str) -> None:
    """Like `save`, unless there is a value: of several servers the first one's stays."""
    with database.writing() as connection:
        connection.execute(insert_new(connection, VALUE), {"name": name, "value": value})


def put(connection: Connection, name: str, value: str) -> None:
    """`save` within a transaction."""
    changed = connection.execute(
        update(VALUE).where(VALUE.c.name == name).values(value=value)
    ).rowcount
    if not changed:
        connection.execute(insert_new(connection, VALUE), {"name": name, "value": value})


def unused_id(connection: Connection, table: Table) -> dict[str, int]:
    """The `id` of a new row, which no row of the table ever had: what was deleted is still named
    elsewhere. Nothing where the database sees to that by itself (PostgreSQL)."""
    if connection.dialect.name != "sqlite":
        return {}
    made = _last_id(connection, table) + 1
    put(connection, f"last id of {table.name}", str(made))
    return {"id": made}


def keep_last_id(connection: Connection, table: Table) -> None:
    """Before a row is deleted: it may be older than `unused_id`, which is to know of it."""
    if connection.dialect.name == "sqlite":
        put(connection, f"last id of {table.name}", str(_last_id(connection, table)))


def _last_id(connection: Connection, table: Table) -> int:
    """The highest one that a row has or is known to have had."""
    known = select(VALUE.c.value).where(VALUE.c.name == f"last id of {table.name}")
    highest = connection.scalar(select(func.max(table.c.id)))
    return max(int(connection.scalar(known) or 0), highest or 0)
