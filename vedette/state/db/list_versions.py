"""Version counters of lists, by name. Servers and sensors compare them with their copies."""

from sqlalchemy import BigInteger, Connection, Text, cast, select, update

from vedette.state.db.database import insert_new
from vedette.state.db.schema import VALUE


def current(connection: Connection, name: str) -> int:
    """Returns the current version; 0 before the first change."""
    return int(connection.scalar(select(VALUE.c.value).where(VALUE.c.name == name)) or 0)


def rise(connection: Connection, name: str) -> int:
    """Increments the version for a change in this transaction and returns it. Concurrent changes
    wait until the transaction ends."""
    connection.execute(insert_new(connection, VALUE), {"name": name, "value": "0"})
    risen = cast(cast(VALUE.c.value, BigInteger) + 1, Text)
    changed = connection.execute(
        update(VALUE).where(VALUE.c.name == name).values(value=risen).returning(VALUE.c.value)
    )
    return int(changed.scalar_one())
