"""Version counters of lists, by name, which servers and sensors compare with what they have."""

from sqlalchemy import BigInteger, Connection, Text, cast, select, update

from vedette.state.db.database import insert_new
from vedette.state.db.schema import VALUE


def current(connection: Connection, name: str) -> int:
    """The current version; 0 before the first change."""
    return int(connection.scalar(select(VALUE.c.value).where(VALUE.c.name == name)) or 0)


def rise(connection: Connection, name: str) -> int:
    """Increment for a change in this transaction. Concurrent changes wait for its end."""
    connection.execute(insert_new(connection, VALUE), {"name": name, "value": "0"})
    risen = cast(cast(VALUE.c.value, BigInteger) + 1, Text)
    changed = connection.execute(
        update(VALUE).where(VALUE.c.name == name).values(value=risen).returning(VALUE.c.value)
    )
    return int(changed.scalar_one())
