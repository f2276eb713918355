"""Numbers that rise with every change of a list, by name: what others compare to know whether
they are behind."""

from sqlalchemy import BigInteger, Connection, Text, cast, select, update

from vedette.state.db.database import insert_new
from vedette.state.db.schema import VALUE


def current(connection: Connection, name: str) -> int:
    """The number as it is now; 0 before the first change."""
    return int(connection.scalar(select(VALUE.c.value).where(VALUE.c.name == name)) or 0)


def rise(connection: Connection, name: str) -> int:
    """The next number, for a change in this transaction. Others who change wait for its end."""
    connection.execute(insert_new(connection, VALUE), {"name": name, "value": "0"})
    risen = cast(cast(VALUE.c.value, BigInteger) + 1, Text)
    changed = connection.execute(
        update(VALUE).where(VALUE.c.name == name).values(value=risen).returning(VALUE.c.value)
    )
    return int(changed.scalar_one())
