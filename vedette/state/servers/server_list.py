"""The servers that run on a state database, each with a lease that it renews.

Whatever a server has (slots of hosts, numbers of open commits) is its own until its lease ends by
the clock of the database, and `SERVER_GRACE_S` longer. Then any other server may end it
(`end_expired`). A server that finds itself ended has lost everything and begins anew under another
id, so an id is the fencing token of all that was done under it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from vedette.limits import SERVER_GRACE_S
from vedette.state.db.database import Database, end_connections, time_us
from vedette.state.db.schema import LEASE
from vedette.state.db.schema_actions import OUTBOX_TARGET
from vedette.state.servers.tables import HOST_SLOT, OPEN_COMMIT, REQUEST_COUNT, SERVER

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class RunningServer:
    """`id` is also the name of its connections to the database (`Database.name`), with the number
    of its attempt behind a dot."""

    id: str
    url: str
    certificate: str
    version: str
    state_schema: str
    telemetry_schema: int
    started_us: int
    seen_us: int
    until_us: int
    rules_generation: int | None
    """Of the Sigma rules that it judges by (`judged_rules.py`); None while it judges nothing."""
    shard_version: int | None
    """The oldest view of the shards that it works by (`sensors/shard_moves.py`)."""
    partition_change: int | None
    """The last change of partitions that it goes along with (`partition_changes.py`)."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a server says of itself."""

    id: str
    url: str
    certificate: str
    version: str
    state_schema: str
    telemetry_schema: int


def register(database: Database, one: Introduction, lease_s: float) -> int:
    """Adds a server; returns when its lease ends, by the clock of the database."""
    with database.writing() as connection:
        now_us = time_us(connection)
        until_us = now_us + int(lease_s * _SECOND_US)
        connection.execute(
            insert(SERVER).values(
                id=one.id,
                url=one.url,
                certificate=one.certificate,
                version=one.version,
                state_schema=one.state_schema,
                telemetry_schema=one.telemetry_schema,
                started_us=now_us,
                seen_us=now_us,
                until_us=until_us,
            )
        )
    return until_us


def renew(database: Database, server_id: str, certificate: str, lease_s: float) -> int | None:
    """Renews the lease; returns its new end, None where others have ended the server."""
    with database.writing() as connection:
        now_us = time_us(connection)
        until_us = now_us + int(lease_s * _SECOND_US)
        renewed = connection.execute(
            update(SERVER)
            .where(SERVER.c.id == server_id)
            .values(seen_us=now_us, until_us=until_us, certificate=certificate)
        )
    return until_us if renewed.rowcount else None


def running(database: Database) -> list[RunningServer]:
    """All servers that are not ended, by id."""
    with database.reading() as connection:
        rows = connection.execute(select(SERVER).order_by(SERVER.c.id)).mappings()
        return [RunningServer(**row) for row in rows]


def end_expired(database: Database) -> list[str]:
    """Ends the servers whose lease is over, and frees what they had; returns their ids."""
    with database.reading() as connection:
        before_us = time_us(connection) - SERVER_GRACE_S * _SECOND_US
        over = list(connection.scalars(select(SERVER.c.id).where(SERVER.c.until_us < before_us)))
    if not over:
        return []
    with database.reading() as connection:  # first: they may have locked what is to be freed
        for server_id in over:
            end_connections(connection, connection_name(server_id))
    with database.writing() as connection:
        still = SERVER.c.id.in_(over), SERVER.c.until_us < before_us
        ended = list(connection.scalars(delete(SERVER).where(*still).returning(SERVER.c.id)))
        _free(connection, ended)
    return ended


def leave(database: Database, server_id: str) -> None:
    """Ends a server that stores nothing any more."""
    with database.writing() as connection:
        connection.execute(delete(SERVER).where(SERVER.c.id == server_id))
        _free(connection, [server_id])


def connection_name(server_id: str) -> str:
    """What the connections of a server are called on the database."""
    return server_id.partition(".")[0]


def _free(connection: Connection, server_ids: Sequence[str]) -> None:
    if not server_ids:
        return
    connection.execute(
        update(HOST_SLOT)
        .where(HOST_SLOT.c.server_id.in_(server_ids))
        .values(server_id="", epoch=HOST_SLOT.c.epoch + 1, since_us=time_us(connection))
    )
    for table in (OPEN_COMMIT, REQUEST_COUNT):
        connection.execute(delete(table).where(table.c.server_id.in_(server_ids)))
    for server_id in server_ids:
        own = f"{connection_name(server_id)}/"
        jobs = LEASE.c.holder.startswith(own, autoescape=True)
        connection.execute(update(LEASE).where(jobs).values(until_us=0))
        targets = OUTBOX_TARGET.c.holder.startswith(own, autoescape=True)
        connection.execute(update(OUTBOX_TARGET).where(targets).values(held_until_us=0))
