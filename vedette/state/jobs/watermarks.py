"""Watermarks: the progress of jobs that follow commits.

A follower saves its watermark in the transaction that records its results. After a crash it repeats
from the old watermark, so all its work outside that transaction must be repeatable.
"""

from sqlalchemy import Connection, func, select, update

from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_watchlists import WATERMARK


def load(database: Database, name: str) -> int | None:
    """Returns the newest commit that the follower has processed; None if it never ran."""
    with database.reading() as connection:
        return connection.scalar(select(WATERMARK.c.seq).where(WATERMARK.c.name == name))


def highest(database: Database) -> int:
    """Returns the newest commit that any follower has processed; 0 if there is none. New commits
    get numbers above it, even if the newest commits are no longer mounted: followers would skip
    lower numbers."""
    with database.reading() as connection:
        return connection.scalar(select(func.max(WATERMARK.c.seq))) or 0


def save(connection: Connection, name: str, seq: int) -> None:
    """Raises the watermark; ignores a number below the stored one."""
    connection.execute(insert_new(connection, WATERMARK), {"name": name, "seq": seq})
    connection.execute(
        update(WATERMARK).where(WATERMARK.c.name == name, WATERMARK.c.seq < seq).values(seq=seq)
    )
