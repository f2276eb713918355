"""Watermarks: how far a job that follows commits has come.

A follower saves its watermark in the transaction that records what it did. After a crash it runs
again from the old one, so whatever it does outside of that transaction has to be repeatable.
"""

from sqlalchemy import Connection, func, select, update

from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema_watchlists import WATERMARK


def load(database: Database, name: str) -> int | None:
    """The newest commit that the follower is done with; None when it never ran."""
    with database.reading() as connection:
        return connection.scalar(select(WATERMARK.c.seq).where(WATERMARK.c.name == name))


def highest(database: Database) -> int:
    """The newest commit that any follower is done with; 0 without one. Commits are numbered above
    it, also where the newest of them are no longer mounted: a follower would pass them over."""
    with database.reading() as connection:
        return connection.scalar(select(func.max(WATERMARK.c.seq))) or 0


def save(connection: Connection, name: str, seq: int) -> None:
    """Raises the watermark; a lower number than the stored one changes nothing."""
    connection.execute(insert_new(connection, WATERMARK), {"name": name, "seq": seq})
    connection.execute(
        update(WATERMARK).where(WATERMARK.c.name == name, WATERMARK.c.seq < seq).values(seq=seq)
    )
