"""Leases: one server of a cluster runs a job, until its lease expires.

The leases of a server that dies expire, and another server acquires them.
"""

import secrets

from sqlalchemy import or_, select, update

from vedette.clock import Clock
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import LEASE


class Leases:
    """The leases of this server."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        # Begins with the name of the server, whose leases end with it (`servers/server_list.py`).
        self._holder = f"{database.name}/{secrets.token_hex(8)}"

    def hold(self, name: str, seconds: float) -> bool:
        """Takes or renews the lease `name`; False while another server holds it."""
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
        """`hold` that writes only when less than half of the time is left: for what is asked more
        often. It is read each time, since a lease can be taken away (`servers/server_list.py`)."""
        needed_us = self._clock.now_us() + int(seconds * 500_000)
        ours = select(LEASE.c.name).where(
            LEASE.c.name == name, LEASE.c.holder == self._holder, LEASE.c.until_us >= needed_us
        )
        with self._database.reading() as connection:
            is_held = connection.scalar(ours) is not None
        return is_held or self.hold(name, seconds)

    def release(self, name: str) -> None:
        """Lets other servers have a lease at once; one that another server holds stays."""
        with self._database.writing() as connection:
            connection.execute(
                update(LEASE)
                .where(LEASE.c.name == name, LEASE.c.holder == self._holder)
                .values(until_us=0)
            )

    def release_all(self, prefix: str) -> None:
        """For the start of the only server of a database: who held leases with names that begin so
        has ended."""
        with self._database.writing() as connection:
            if connection.dialect.name == "sqlite":
                named = LEASE.c.name.startswith(prefix, autoescape=True)
                connection.execute(update(LEASE).where(named).values(until_us=0))
