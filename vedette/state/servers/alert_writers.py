"""End of the time in which sent alerts may still be stored.

The lock of alert writers is released as soon as a server is killed or disconnected, but its inserts
in flight may still take effect until its lease ends (`store/engine/fenced_insert.py`). The next
writer would miss these alerts and write them again. So a writer records the end of its lease before
sending alerts, and clears it in the transaction that records their consequences.
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
    """Raises UnavailableError while alerts of a crashed writer may still be stored. Call while
    holding the lock of alert writers."""
    until_us = int(key_values.load(database, _NAME) or _NOBODY)
    if not until_us:
        return
    with database.reading() as connection:
        now_us = time_us(connection)
    if now_us < until_us + SERVER_GRACE_S * 1_000_000:
        raise UnavailableError("alerts in flight may still be stored for some seconds")


def begin(database: Database, until_us: int) -> None:
    """Records the time (epoch us, by the database's clock) up to which the store accepts the alerts
    about to be sent."""
    key_values.save(database, _NAME, str(until_us))


def end(connection: Connection, until_us: int) -> None:
    """Clears the record in the transaction with the consequences of the stored alerts. Raises
    UnavailableError if another server has begun."""
    changed = connection.execute(
        update(VALUE)
        .where(VALUE.c.name == _NAME, VALUE.c.value == str(until_us))
        .values(value=_NOBODY)
    ).rowcount
    if not changed:
        raise UnavailableError("another server writes alerts")
