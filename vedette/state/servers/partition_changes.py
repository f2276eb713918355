"""Numbered changes of partitions, announced to all servers, and the last change that each server
follows: it no longer writes to partitions that the change removes."""

from sqlalchemy import or_, select, update

from vedette.state.db.database import Database
from vedette.state.servers.tables import COMMIT_COUNTER, SERVER


def announce(database: Database) -> int:
    """Announces a change that the store already shows, and returns its number."""
    raised = update(COMMIT_COUNTER).values(partition_change=COMMIT_COUNTER.c.partition_change + 1)
    with database.writing() as connection:
        return int(
            connection.execute(raised.returning(COMMIT_COUNTER.c.partition_change)).scalar_one()
        )


def announced(database: Database) -> int:
    """Returns the number of the last change. Call before reading the changes from the store."""
    with database.reading() as connection:
        return connection.scalar(select(COMMIT_COUNTER.c.partition_change)) or 0


def note_followed(database: Database, server_id: str, number: int) -> None:
    """Records that every commit of the server from now on follows this change."""
    with database.writing() as connection:
        own = update(SERVER).where(SERVER.c.id == server_id)
        connection.execute(own.values(partition_change=number))


def behind(database: Database, own_id: str, number: int) -> list[str]:
    """Returns the ids of other servers that may still write according to the state before a
    change."""
    change = SERVER.c.partition_change
    late = or_(change.is_(None), change < number)
    query = select(SERVER.c.id).where(SERVER.c.id != own_id, late).order_by(SERVER.c.id)
    with database.reading() as connection:
        return list(connection.scalars(query))
