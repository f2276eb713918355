"""Key-value store for small values of the server itself."""

from sqlalchemy import Connection, Table, func, select, update

from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import VALUE


def load(database: Database, name: str) -> str | None:
    """Returns the value of a key, or None."""
    with database.reading() as connection:
        return connection.scalar(select(VALUE.c.value).where(VALUE.c.name == name))


def save(database: Database, name: str, value: str) -> None:
    """Stores a value; durable on return."""
    with database.writing() as connection:
        put(connection, name, value)


def save_new(database: Database, name: str, value: str) -> None:
    """Stores a value unless the key exists: of several servers, the first one's value stays."""
    with database.writing() as connection:
        connection.execute(insert_new(connection, VALUE), {"name": name, "value": value})


def put(connection: Connection, name: str, value: str) -> None:
    """Like `save`, within a transaction."""
    changed = connection.execute(
        update(VALUE).where(VALUE.c.name == name).values(value=value)
    ).rowcount
    if not changed:
        connection.execute(insert_new(connection, VALUE), {"name": name, "value": value})


def unused_id(connection: Connection, table: Table) -> dict[str, int]:
    """Returns an `id` for a new row that no row of the table has ever had, since deleted ids are
    still referenced elsewhere. Returns {} on PostgreSQL, whose sequences guarantee that."""
    if connection.dialect.name != "sqlite":
        return {}
    made = _last_id(connection, table) + 1
    put(connection, f"last id of {table.name}", str(made))
    return {"id": made}


def keep_last_id(connection: Connection, table: Table) -> None:
    """Records the highest id before a row is deleted: the row may be older than `unused_id`, which
    must not reuse its id."""
    if connection.dialect.name == "sqlite":
        put(connection, f"last id of {table.name}", str(_last_id(connection, table)))


def _last_id(connection: Connection, table: Table) -> int:
    """Returns the highest id of an existing row or in the record."""
    known = select(VALUE.c.value).where(VALUE.c.name == f"last id of {table.name}")
    highest = connection.scalar(select(func.max(table.c.id)))
    return max(int(connection.scalar(known) or 0), highest or 0)
