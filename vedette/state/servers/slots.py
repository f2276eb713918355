"""Slots of hosts: which server has which hosts.

A host belongs to a slot (`model/ids.py`), and a slot to one server at a time. The lease is
the server's (`server_list.py`): it covers all slots that the server has.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select, update

from vedette.limits import HOST_SLOTS
from vedette.state.db.database import Database, insert_new, time_us
from vedette.state.servers.tables import HOST_SLOT, SERVER


@dataclass(frozen=True, slots=True)
class Slot:
    """`server_id` is "" for one that nobody has."""

    slot: int
    server_id: str
    epoch: int
    held: bool = False
    """Whether nobody may have it."""


def ensure_slots(database: Database) -> None:
    """Makes the rows of all slots. Idempotent."""
    with database.writing() as connection:
        rows = [{"slot": slot} for slot in range(HOST_SLOTS)]
        connection.execute(insert_new(connection, HOST_SLOT), rows)


def all_slots(database: Database) -> list[Slot]:
    query = select(
        HOST_SLOT.c.slot, HOST_SLOT.c.server_id, HOST_SLOT.c.epoch, HOST_SLOT.c.held != 0
    )
    with database.reading() as connection:
        return [Slot(*row) for row in connection.execute(query.order_by(HOST_SLOT.c.slot))]


def claim(database: Database, server_id: str, most: int) -> list[int]:
    """Gives a server up to `most` slots that nobody has, and returns them; none to a server whose
    lease was taken."""
    with database.writing() as connection:
        own = (
            select(SERVER.c.id)
            .where(SERVER.c.id == server_id)
            .with_for_update(read=True, key_share=True)
        )
        if connection.scalar(own) is None:
            return []
        free = (
            select(HOST_SLOT.c.slot)
            .where(HOST_SLOT.c.server_id == "", HOST_SLOT.c.held == 0)
            .order_by(HOST_SLOT.c.slot)
            .limit(most)
            .with_for_update(skip_locked=True)
        )
        slots = list(connection.scalars(free))
        connection.execute(
            update(HOST_SLOT)
            .where(HOST_SLOT.c.slot.in_(slots))
            .values(server_id=server_id, epoch=HOST_SLOT.c.epoch + 1, since_us=time_us(connection))
        )
    return slots


def release(database: Database, server_id: str, slots: Collection[int]) -> None:
    """Leaves slots to other servers. Those that the server does not have are left alone."""
    with database.writing() as connection:
        connection.execute(
            update(HOST_SLOT)
            .where(HOST_SLOT.c.slot.in_(sorted(slots)), HOST_SLOT.c.server_id == server_id)
            .values(server_id="", epoch=HOST_SLOT.c.epoch + 1, since_us=time_us(connection))
        )
