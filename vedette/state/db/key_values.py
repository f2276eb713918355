"""Key-value store for small values of the server itself."""

from sqlalchemy import Connection, select, update

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
