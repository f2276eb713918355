"""Slots of hosts: which server owns which hosts.

A host belongs to a slot (`model/ids.py`), and a slot to one server at a time. The server's lease
(`server_list.py`) covers all its slots.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select, update

from vedette.limits import HOST_SLOTS
from vedette.state.db.database import Database, insert_new, time_us
from vedette.state.servers.tables import HOST_SLOT, SERVER


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot; `server_id` is "" if no server owns it."""

    slot: int
    server_id: str
    epoch: int
    held: bool = False
    """Whether the slot is on hold: no server may own it."""


def ensure_slots(database: Database) -> None:
    """Creates the rows of all slots. Idempotent."""
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
    """Assigns up to `most` free slots to a server and returns them; [] for a server that was
    ended."""
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
    """Frees slots for other servers. Ignores slots that the server does not own."""
    with database.writing() as connection:
        connection.execute(
            update(HOST_SLOT)
            .where(HOST_SLOT.c.slot.in_(sorted(slots)), HOST_SLOT.c.server_id == server_id)
            .values(server_id="", epoch=HOST_SLOT.c.epoch + 1, since_us=time_us(connection))
        )
