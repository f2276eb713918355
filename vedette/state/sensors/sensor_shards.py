"""The shard map in the state database: which shard of a cluster holds which sensors.

A new range begins behind every sensor number that may have been given out, also by transactions
of other servers that have not ended. It is written first; then the next number is set to its
beginning, so that sensors from then on are of the new range.
"""

from typing import Final

from sqlalchemy import Connection, func, insert, select, text

from vedette.errors import ConflictError
from vedette.limits import SHARD_RANGE_MARGIN
from vedette.model.host import ShardMap, ShardRange, first_map
from vedette.state.db import list_versions
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import SENSOR_SHARD, SHARD_RANGE

MAP_VERSION: Final = "shard_map_version"
"""Rises with every change of the map, and every step of a move."""


def load_shard_map(database: Database) -> ShardMap | None:
    """None where there has been no cluster yet."""
    with database.reading() as connection:
        return load_map_within(connection)


def begin_shard_map(database: Database, shard_count: int) -> ShardMap:
    """The map, which is made for a cluster of so many shards where there is none."""
    wanted = first_map(shard_count)
    with database.writing() as connection:
        rows = [_row(one) for one in wanted.ranges]
        connection.execute(insert_new(connection, SHARD_RANGE), rows)
        return load_map_within(connection) or wanted


def next_range(database: Database) -> int:
    """The sensor number from which a range that is added now will count."""
    with database.reading() as connection:
        newest = connection.scalar(select(func.max(SENSOR.c.id))) or 0
        ranges = connection.scalar(select(func.max(SHARD_RANGE.c.first_sensor_id))) or 0
        return max(newest, ranges, _last_number(connection)) + 1 + SHARD_RANGE_MARGIN


def add_range(database: Database, added: ShardRange) -> ShardMap:
    """Makes new sensors those of a range (`next_range`). Raises ConflictError where sensors of it
    exist already."""
    with database.writing() as connection:
        newest = connection.scalar(select(func.max(SENSOR.c.id))) or 0
        known = load_map_within(connection)
        if known is None or newest >= added.first_sensor_id or added in known.ranges:
            raise ConflictError("the sensors have changed meanwhile: do it again")
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
    """The last sensor number that was given out, also by a transaction that has not ended."""
    if connection.dialect.name == "sqlite":
        read = text("SELECT seq FROM sqlite_sequence WHERE name = 'sensor'")
    else:
        read = text(f"SELECT pg_sequence_last_value({_SEQUENCE}::regclass)")
    return connection.scalar(read) or 0


def _set_last_number(connection: Connection, number: int) -> None:
    """Never backwards."""
    if _last_number(connection) >= number:
        return
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"SELECT setval({_SEQUENCE}, :number)"), {"number": number})
        return
    changed = text("UPDATE sqlite_sequence SET seq = :number WHERE name = 'sensor'")
    if not connection.execute(changed, {"number": number}).rowcount:
        made = text("INSERT INTO sqlite_sequence (name, seq) VALUES ('sensor', :number)")
        connection.execute(made, {"number": number})
