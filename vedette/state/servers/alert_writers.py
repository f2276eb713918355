"""Until when alerts may still be stored that a server has sent to the store.

The lock of those who write alerts is free as soon as a server is killed, or cut off; what it has
sent may be stored after that, until its lease is over (`store/engine/fenced_insert.py`). The next
one would not find these alerts, and write them again. So the end of the lease is noted before
alerts are sent, and taken back with what they led to.
"""

from typing import Final

from sqlalchemy import Connection, update

from vedette.errors import UnavailableError
from vedette.limits import SERVER_GRACE_S
from vedette.state.db import key_values
from vedette.state.db.database import Database, time_us
from vedette.state.db.schema import VALUE

_NAME: Final = "alerts stored until"
_NOBODY: Final = "0"


def check_over(database: Database) -> None:
    """Raises UnavailableError while alerts of a server that has not come to an end may still be
    stored. Call it as the only one who writes alerts."""
    until_us = int(key_values.load(database, _NAME) or _NOBODY)
    if not until_us:
        return
    with database.reading() as connection:
        now_us = time_us(connection)
    if now_us < until_us + SERVER_GRACE_S * 1_000_000:
        raise UnavailableError("alerts that were sent before may still be stored for some seconds")


def begin(database: Database, until_us: int) -> None:
    """Before alerts are sent that the store takes until then, epoch us by its clock."""
    key_values.save(database, _NAME, str(until_us))


def end(connection: Connection, until_us: int) -> None:
    """They are stored, and what they led to is in this transaction. Raises UnavailableError where
    another server has begun."""
    changed = connection.execute(
        update(VALUE)
        .where(VALUE.c.name == _NAME, VALUE.c.value == str(until_us))
        .values(value=_NOBODY)
    ).rowcount
    if not changed:
        raise UnavailableError("another server writes alerts")
