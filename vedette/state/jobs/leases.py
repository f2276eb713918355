"""Leases: exactly one server of a cluster runs a job, until its lease expires.

A server releases its leases at shutdown. At start it releases the leases of the previous process on
its data directory (`end_holder`, `vedette/jobs/leases.py`). The leases of a server that dies and
does not restart expire, and another server acquires them.
"""

import secrets

from sqlalchemy import or_, select, update

from vedette.clock import Clock
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import LEASE
from vedette.state.db.schema_actions import OUTBOX_TARGET


class Leases:
    """The leases of this server."""

    def __init__(self, database: Database, clock: Clock, shortest_s: float = 0.0) -> None:
        """`shortest_s` is the minimum length of a lease that `keep` writes."""
        self._database = database
        self._shortest_s = shortest_s
        self._clock = clock
        # Begins with the name of the server, whose leases end with it (`servers/server_list.py`).
        self._holder = f"{database.name}/{secrets.token_hex(8)}"

    def hold(self, name: str, seconds: float) -> bool:
        """Acquires or renews the lease `name`; False while another server holds it."""
        now_us = self._clock.now_us()
        until_us = now_us + int(seconds * 1_000_000)
        with self._database.writing() as connection:
            row = {"name": name, "holder": self._holder, "until_us": until_us}
            connection.execute(insert_new(connection, LEASE), row)
            taken = connection.execute(
                update(LEASE)
                .where(LEASE.c.name == name)
                .where(or_(LEASE.c.holder == self._holder, LEASE.c.until_us < now_us))
                .values(holder=self._holder, until_us=until_us)
            )
        return taken.rowcount == 1

    def keep(self, name: str, seconds: float) -> bool:
        """Like `hold`, but writes only when less than half of the time is left; for frequent calls.
        Reads the lease each time, since it can be revoked (`servers/server_list.py`)."""
        seconds = max(seconds, self._shortest_s)
        needed_us = self._clock.now_us() + int(seconds * 500_000)
        ours = select(LEASE.c.name).where(
            LEASE.c.name == name, LEASE.c.holder == self._holder, LEASE.c.until_us >= needed_us
        )
        with self._database.reading() as connection:
            is_held = connection.scalar(ours) is not None
        return is_held or self.hold(name, seconds)

    def release(self, name: str) -> None:
        """Releases a lease if this server holds it."""
        with self._database.writing() as connection:
            connection.execute(
                update(LEASE)
                .where(LEASE.c.name == name, LEASE.c.holder == self._holder)
                .values(until_us=0)
            )


def end_holder(database: Database, name: str) -> None:
    """Releases all leases and outbox targets of a server that has ended; `name` is its
    `Database.name`.

    With SQLite there is a single server, so this releases all. Call it at shutdown, or for a server
    that has certainly ended: other servers may take over at once.
    """
    with database.writing() as connection:
        for table, until in ((LEASE, "until_us"), (OUTBOX_TARGET, "held_until_us")):
            of_holder = table.c.holder.startswith(f"{name}/", autoescape=True)
            condition = table.c[until] > 0
            if connection.dialect.name != "sqlite":
                condition &= of_holder
            connection.execute(update(table).where(condition).values({until: 0}))
