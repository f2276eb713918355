"""Moves of sensors between shards: the journal, and each server's progress.

A moved sensor is at one step, and every step is one transaction, so a new mover can continue after
a killed one. `version` increases with each step and each change of the map. Every server writes the
oldest version that any of its running work uses. A step is complete when all servers have reached
its version and no server has the slots of moving sensors.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import ConflictError
from vedette.model.host import MoveStep, SensorMove, ShardView
from vedette.model.ids import slot_of
from vedette.state.db import audit_log, list_versions
from vedette.state.db.audit_log import Entry
from vedette.state.db.database import Database, insert_new, time_us
from vedette.state.db.schema_fleet import SENSOR_MOVE, SENSOR_SHARD
from vedette.state.sensors.sensor_shards import MAP_VERSION, load_map_within
from vedette.state.servers.tables import HOST_SLOT, SERVER

_SECOND_US = 1_000_000


def version(database: Database) -> int:
    """Returns the version of map and journal."""
    with database.reading() as connection:
        return list_versions.current(connection, MAP_VERSION)


def load_view(database: Database) -> ShardView | None:
    """Returns map, version and moves; None if there has been no cluster."""
    with database.reading() as connection:
        found = list_versions.current(connection, MAP_VERSION)
        known = load_map_within(connection)
        return None if known is None else ShardView(known, found, tuple(_moves(connection)))


def under_way(database: Database) -> list[SensorMove]:
    with database.reading() as connection:
        return _moves(connection)


def begin(database: Database, moves: Sequence[SensorMove]) -> None:
    """Starts moves: from now on, no telemetry of these sensors is stored. Raises ConflictError if
    other sensors are being moved, or a sensor is on another shard."""
    with database.writing() as connection:
        list_versions.rise(connection, MAP_VERSION)  # first: serializes concurrent movers
        known = load_map_within(connection)
        if known is None or _moves(connection):
            raise ConflictError(
                "another move of sensors is in progress; wait for it or continue it"
            )
        for one in moves:
            if known.shard_of(one.sensor_id) != one.source:
                raise ConflictError(f"sensor {one.sensor_id} is not on shard {one.source}")
            connection.execute(
                insert(SENSOR_MOVE).values(
                    sensor_id=one.sensor_id, source=one.source, target=one.target, step="copy"
                )
            )
        slots = {slot_of(one.sensor_id) for one in moves}
        held = update(HOST_SLOT).where(HOST_SLOT.c.slot.in_(sorted(slots)))
        connection.execute(held.values(held=1))


def swap(database: Database, moves: Sequence[SensorMove]) -> None:
    """Assigns the sensors to their targets, after their rows were copied there. The sensors stay on
    hold."""
    with database.writing() as connection:
        list_versions.rise(connection, MAP_VERSION)
        for one in moves:
            row = {"sensor_id": one.sensor_id, "shard": one.target}
            connection.execute(insert_new(connection, SENSOR_SHARD), row)
            of_sensor = SENSOR_SHARD.c.sensor_id == one.sensor_id
            connection.execute(update(SENSOR_SHARD).where(of_sensor).values(shard=one.target))
            before, after = {"shard": one.source}, {"shard": one.target}
            audit_log.note(
                connection, Entry("change", "sensor shard", str(one.sensor_id), before, after)
            )
        _step(connection, "swap")


def release(database: Database) -> None:
    """Ends the hold, so that the sensors' records are accepted again."""
    with database.writing() as connection:
        list_versions.rise(connection, MAP_VERSION)
        connection.execute(update(HOST_SLOT).where(HOST_SLOT.c.held != 0).values(held=0))
        _step(connection, "delete")


def finish(database: Database) -> None:
    """Ends the moves, after the source has deleted all rows of the sensors."""
    with database.writing() as connection:
        list_versions.rise(connection, MAP_VERSION)
        connection.execute(delete(SENSOR_MOVE))


def note_in_use(database: Database, oldest: int) -> float:
    """Records the oldest map version that this server still uses. Returns the seconds for which
    other servers rely on that, until its lease ends; 0 for a server that is not registered."""
    own = SERVER.c.id.startswith(f"{database.name}.", autoescape=True)
    with database.reading() as connection:
        row = connection.execute(select(SERVER.c.until_us, SERVER.c.shard_version).where(own))
        found = row.first()
        left_us = 0 if found is None else found.until_us - time_us(connection)
    if found is not None and found.shard_version != oldest:
        with database.writing() as connection:
            changed = connection.execute(update(SERVER).where(own).values(shard_version=oldest))
        left_us = left_us if changed.rowcount else 0
    return max(left_us / _SECOND_US, 0.0)


def behind(database: Database) -> list[str]:
    """Returns what the newest step still waits for: URLs of servers, and slots on hold that still
    have a server."""
    with database.reading() as connection:
        newest = list_versions.current(connection, MAP_VERSION)
        servers = connection.execute(select(SERVER.c.url, SERVER.c.shard_version)).all()
        taken = HOST_SLOT.c.held != 0, HOST_SLOT.c.server_id != ""
        slots = connection.scalars(select(HOST_SLOT.c.slot).where(*taken)).all()
    late = [url for url, seen in servers if seen is None or seen < newest]
    return [*late, *(f"slot {one}" for one in slots)]


def _moves(connection: Connection) -> list[SensorMove]:
    query = select(SENSOR_MOVE).order_by(SENSOR_MOVE.c.sensor_id)
    return [SensorMove(**row) for row in connection.execute(query).mappings()]


def _step(connection: Connection, step: MoveStep) -> None:
    connection.execute(update(SENSOR_MOVE).values(step=step))
