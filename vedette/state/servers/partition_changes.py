"""Changes of partitions that are announced to all servers, by number, and up to which one each of
them goes along: it writes to nothing that those changes take away."""

from sqlalchemy import or_, select, update

from vedette.state.db.database import Database
from vedette.state.servers.tables import COMMIT_COUNTER, SERVER

_SINCE = "0037"
"""The migration from which on a server says so. Older ones run beside newer ones in an upgrade."""


def announce(database: Database) -> int:
    """The number of a change that is to be seen in the store by now."""
    raised = update(COMMIT_COUNTER).values(partition_change=COMMIT_COUNTER.c.partition_change + 1)
    with database.writing() as connection:
        return int(
            connection.execute(raised.returning(COMMIT_COUNTER.c.partition_change)).scalar_one()
        )


def announced(database: Database) -> int:
    """The number of the last one. Ask before the store is asked for the changes."""
    with database.reading() as connection:
        return connection.scalar(select(COMMIT_COUNTER.c.partition_change)) or 0


def note_followed(database: Database, server_id: str, number: int) -> None:
    """Every commit that the server begins from now on goes along with this change."""
    with database.writing() as connection:
        own = update(SERVER).where(SERVER.c.id == server_id)
        connection.execute(own.values(partition_change=number))


def behind(database: Database, own_id: str, number: int) -> list[str]:
    """The other servers that may still write as they did before a change, by id. Of those that are
    too old to say so it is not known: none of them is among these."""
    change = SERVER.c.partition_change
    late = or_(change.is_(None), change < number)
    with database.reading() as connection:
        asked = select(SERVER.c.id).where(SERVER.c.id != own_id, SERVER.c.state_schema >= _SINCE)
        return list(connection.scalars(asked.where(late).order_by(SERVER.c.id)))


def any_silent(database: Database) -> bool:
    """Whether a server runs that is too old to say what it goes along with."""
    with database.reading() as connection:
        older = select(SERVER.c.id).where(SERVER.c.state_schema < _SINCE).limit(1)
        return connection.scalar(older) is not None
