"""The servers that run on a state database, each with a lease that it renews.

A server's possessions (slots of hosts, open commit numbers) stay its own until its lease ends by
the database's clock, and `SERVER_GRACE_S` longer. Then any other server may end it (`end_expired`).
A server that was ended has lost everything and starts again under another id, so an id is the
fencing token of all its work.
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
    """A registered server. `id` is the name of its database connections (`Database.name`), a dot,
    and the number of its attempt."""

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
    """Generation of the Sigma rules that it judges by (`judged_rules.py`); None while it judges
    nothing."""
    shard_version: int | None
    """Oldest shard map version that it uses (`sensors/shard_moves.py`)."""
    partition_change: int | None
    """Last change of partitions that it follows (`partition_changes.py`)."""


@dataclass(frozen=True, slots=True)
class Introduction:
    """A server's own data for its registration."""

    id: str
    url: str
    certificate: str
    version: str
    state_schema: str
    telemetry_schema: int


def register(database: Database, one: Introduction, lease_s: float) -> int:
    """Registers a server. Returns the end of its lease by the database's clock."""
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
    """Renews the lease. Returns its new end, or None if other servers have ended the server."""
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
    """Returns all registered servers, sorted by id."""
    with database.reading() as connection:
        rows = connection.execute(select(SERVER).order_by(SERVER.c.id)).mappings()
        return [RunningServer(**row) for row in rows]


def end_expired(database: Database) -> list[str]:
    """Ends the servers whose lease has expired, frees their possessions, and returns their ids."""
    with database.reading() as connection:
        before_us = time_us(connection) - SERVER_GRACE_S * _SECOND_US
        over = list(connection.scalars(select(SERVER.c.id).where(SERVER.c.until_us < before_us)))
    if not over:
        return []
    with database.reading() as connection:  # first: they may lock rows to be freed
        for server_id in over:
            end_connections(connection, connection_name(server_id))
    with database.writing() as connection:
        still = SERVER.c.id.in_(over), SERVER.c.until_us < before_us
        ended = list(connection.scalars(delete(SERVER).where(*still).returning(SERVER.c.id)))
        _free(connection, ended)
    return ended


def leave(database: Database, server_id: str) -> None:
    """Removes a server that no longer stores anything."""
    with database.writing() as connection:
        connection.execute(delete(SERVER).where(SERVER.c.id == server_id))
        _free(connection, [server_id])


def connection_name(server_id: str) -> str:
    """Returns the name of the server's database connections."""
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
