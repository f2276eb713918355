"""Commit numbers, assigned in one order for all servers, and the number up to which all commits
have ended.

A commit is open from the assignment of its number until its server reports its end. One
transaction, behind a row lock, assigns and opens a number, so a reader of `settled` sees every
lower number either open or ended: no commit becomes visible behind a follower. Only for PostgreSQL;
with SQLite there is a single server.
"""

from collections.abc import Collection

from sqlalchemy import delete, func, select, text, update

from vedette.errors import UnavailableError
from vedette.state.db.database import Database, insert_new, time_us
from vedette.state.servers.tables import COMMIT_COUNTER, OPEN_COMMIT

_ONLY = 1


class LeaseLostError(UnavailableError):
    """Other servers have ended this server, or may do so at any moment. It must not store
    anything."""

    reason = "lease_lost"


def number_above(database: Database, seq: int) -> None:
    """Ensures that the next number is greater than `seq`."""
    with database.writing() as connection:
        connection.execute(insert_new(connection, COMMIT_COUNTER), {"id": _ONLY, "newest": 0})
        connection.execute(
            update(COMMIT_COUNTER)
            .where(COMMIT_COUNTER.c.id == _ONLY, COMMIT_COUNTER.c.newest < seq)
            .values(newest=seq)
        )


_BEGIN = text(
    """
    WITH leased AS (
        SELECT id FROM server WHERE id = :server AND until_us > :now_us FOR KEY SHARE
    ), given AS (
        UPDATE commit_counter SET newest = newest + 1
        WHERE id = 1 AND EXISTS (SELECT 1 FROM leased) RETURNING newest
    )
    INSERT INTO open_commit (seq, server_id, since_us)
    SELECT newest, :server, :now_us FROM given RETURNING seq
    """
)


def begin(database: Database, server_id: str) -> int:
    """Opens a commit of a server and returns its number. Raises LeaseLostError.

    A single statement, so that a server that stalls halfway blocks no other server.
    """
    with database.at_once() as connection:
        values = {"server": server_id, "now_us": time_us(connection)}
        seq: int | None = connection.execute(_BEGIN, values).scalar()
    if seq is None:
        raise LeaseLostError("the lease of this server has expired")
    return seq


def end(database: Database, seqs: Collection[int]) -> None:
    """Ends commits, none of whose rows can be stored any more. Idempotent."""
    with database.writing() as connection:
        connection.execute(delete(OPEN_COMMIT).where(OPEN_COMMIT.c.seq.in_(sorted(seqs))))


def newest(database: Database) -> int:
    """Returns the last assigned number."""
    with database.reading() as connection:
        return connection.scalar(select(COMMIT_COUNTER.c.newest)) or 0


def settled(database: Database) -> int:
    """Returns the newest number up to which all commits have ended."""
    oldest = select(func.min(OPEN_COMMIT.c.seq)).scalar_subquery()
    with database.reading() as connection:
        row = connection.execute(select(COMMIT_COUNTER.c.newest, oldest.label("oldest"))).first()
    if row is None:
        return 0
    return int(row.newest if row.oldest is None else row.oldest - 1)
