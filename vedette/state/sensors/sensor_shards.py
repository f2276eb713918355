"""The shard map in the state database: which shard of a cluster stores which sensors.

A new range begins above every sensor number that may have been assigned, including numbers drawn by
unfinished transactions of other servers. The range is written first. Then the next sensor number is
set to its beginning, so that later sensors belong to the new range.
"""

from typing import Final

from sqlalchemy import Connection, func, insert, select, text

from vedette.errors import ConflictError
from vedette.limits import Limit
from vedette.model.host import ShardMap, ShardRange, first_map
from vedette.state.db import list_versions
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import SENSOR_SHARD, SHARD_RANGE

SHARD_RANGE_MARGIN: Limit[int] = 100_000
"""Sensor numbers left unused before a new range of shards, more than concurrent transactions may
have drawn. There are"""


MAP_VERSION: Final = "shard_map_version"
"""Key of a version that increases with every change of the map and every step of a move."""


def load_shard_map(database: Database) -> ShardMap | None:
    """Returns the shard map; None if there has been no cluster."""
    with database.reading() as connection:
        return load_map_within(connection)


def begin_shard_map(database: Database, shard_count: int) -> ShardMap:
    """Returns the shard map; creates it for a cluster of `shard_count` shards if it does not
    exist."""
    wanted = first_map(shard_count)
    with database.writing() as connection:
        rows = [_row(one) for one in wanted.ranges]
        connection.execute(insert_new(connection, SHARD_RANGE), rows)
        return load_map_within(connection) or wanted


def next_range(database: Database) -> int:
    """Returns the sensor number at which a range added now would begin."""
    with database.reading() as connection:
        newest = connection.scalar(select(func.max(SENSOR.c.id))) or 0
        ranges = connection.scalar(select(func.max(SHARD_RANGE.c.first_sensor_id))) or 0
        return max(newest, ranges, _last_number(connection)) + 1 + SHARD_RANGE_MARGIN


def add_range(database: Database, added: ShardRange) -> ShardMap:
    """Adds a range (`next_range`) for future sensors. Raises ConflictError if sensors in it already
    exist."""
    with database.writing() as connection:
        newest = connection.scalar(select(func.max(SENSOR.c.id))) or 0
        known = load_map_within(connection)
        if known is None or newest >= added.first_sensor_id or added in known.ranges:
            raise ConflictError("the sensors have changed; retry")
        connection.execute(insert(SHARD_RANGE), [_row(added)])
        list_versions.rise(connection, MAP_VERSION)
    with database.writing() as connection:
        _set_last_number(connection, added.first_sensor_id - 1)
        found = load_map_within(connection)
        assert found is not None
        return found


def load_map_within(connection: Connection) -> ShardMap | None:
    rows = connection.execute(select(SHARD_RANGE).order_by(SHARD_RANGE.c.first_sensor_id)).all()
    if not rows:
        return None
    ranges = (ShardRange(row[0], tuple(map(int, row[1].split(",")))) for row in rows)
    moved = connection.execute(select(SENSOR_SHARD.c.sensor_id, SENSOR_SHARD.c.shard)).all()
    return ShardMap(tuple(ranges), {row[0]: row[1] for row in moved})


def _row(one: ShardRange) -> dict[str, object]:
    shards = ",".join(map(str, one.shards))
    return {"first_sensor_id": one.first_sensor_id, "shards": shards}


_SEQUENCE = "pg_get_serial_sequence('sensor', 'id')"


def _last_number(connection: Connection) -> int:
    """Returns the last sensor number that was assigned, including by unfinished transactions."""
    if connection.dialect.name == "sqlite":
        read = text("SELECT seq FROM sqlite_sequence WHERE name = 'sensor'")
    else:
        read = text(f"SELECT pg_sequence_last_value({_SEQUENCE}::regclass)")
    return connection.scalar(read) or 0


def _set_last_number(connection: Connection, number: int) -> None:
    """Raises the counter of sensor numbers; never lowers it."""
    if _last_number(connection) >= number:
        return
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"SELECT setval({_SEQUENCE}, :number)"), {"number": number})
        return
    changed = text("UPDATE sqlite_sequence SET seq = :number WHERE name = 'sensor'")
    if not connection.execute(changed, {"number": number}).rowcount:
        made = text("INSERT INTO sqlite_sequence (name, seq) VALUES ('sensor', :number)")
        connection.execute(made, {"number": number})
