"""Requests that each server admitted, by key, so that a rate limit applies to all servers
together."""

from collections.abc import Mapping

from sqlalchemy import delete, select, update

from vedette.limits import Limit
from vedette.state.db.database import Database, insert_new, time_us
from vedette.state.servers.tables import REQUEST_COUNT

REQUEST_COUNTS_KEPT_S: Limit[int] = 120
"""Time (s) for which counts of an idle key are retained; its bucket is full again after a
minute."""


_SECOND_US = 1_000_000


def exchange(
    database: Database, server_id: str, used: Mapping[str, int]
) -> dict[tuple[str, str], int]:
    """Adds the requests that a server admitted since its last exchange, by key. Returns the totals
    of other servers for all keys in use, by (key, server). A total restarts with a key that was
    idle."""
    with database.writing() as connection:
        now_us = time_us(connection)
        for name in sorted(used):
            row = {"name": name, "server_id": server_id, "used": 0, "counted_us": now_us}
            connection.execute(insert_new(connection, REQUEST_COUNT), row)
            connection.execute(
                update(REQUEST_COUNT)
                .where(REQUEST_COUNT.c.name == name, REQUEST_COUNT.c.server_id == server_id)
                .values(used=REQUEST_COUNT.c.used + used[name], counted_us=now_us)
            )
        old = REQUEST_COUNT.c.counted_us < now_us - REQUEST_COUNTS_KEPT_S * _SECOND_US
        # Only its own rows, so that no server waits for one that stalls here.
        own = REQUEST_COUNT.c.server_id == server_id
        connection.execute(delete(REQUEST_COUNT).where(old, own))
        others = select(REQUEST_COUNT).where(REQUEST_COUNT.c.server_id != server_id)
        return {(row.name, row.server_id): row.used for row in connection.execute(others).all()}
