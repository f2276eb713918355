"""Moves the telemetry of an embedded store into a cluster: resumable and verified.

The work is planned first, and the plan is stored in the data directory (`migration.json`). A unit
is a set of rows of one table, partition and shard; it is inserted as one block, so the cluster has
all of it or nothing. Count and checksum of each unit are compared on both sides, before it is sent
(an earlier run may have sent it) and after; those of whole tables at the end. The store's id is
written last: no server starts on half of a store.
"""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from vedette.doctor.migration import PLAN_FILE
from vedette.errors import ConflictError, StartError
from vedette.limits import MIGRATION_UNIT_ROWS, Limit
from vedette.model.host import ShardMap
from vedette.store.engine.client import ClickHouseEngine, Engine, Settings
from vedette.store.integrity.identity import read_store_id, write_store_id
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.schema.table import Table
from vedette.store.schema.tables import INDEXED_PARTITION, MERGING, SCHEMA, TABLES

MIGRATION_WHERE_SHOWN_CHARS: Limit[int] = 200
"""Characters of a unit's condition shown in an error."""


_MADE_ANEW: Final = frozenset({INDEXED_PARTITION.name, MERGING.name, SCHEMA.name})
"""The cluster creates its own rows of these tables."""

MIGRATED: Final = tuple(table for table in TABLES if table.name not in _MADE_ANEW)
_BY_NAME: Final = {table.name: table for table in MIGRATED}


@dataclass(frozen=True, slots=True)
class Unit:
    """Rows that are moved together: those whose key hash modulo `parts` equals `part`."""

    table: str
    partition_ms: int | None
    sensors: tuple[int, ...]
    """Sensors of one shard; empty for tables that are not sharded."""
    part: int
    parts: int

    @property
    def where(self) -> str:
        found = ["1"]
        if self.partition_ms is not None:
            found.append(f"partition_ms = {self.partition_ms:d}")
        if self.sensors:
            found.append(f"sensor_id IN ({', '.join(map(str, self.sensors))})")
        if self.parts > 1:
            key = _BY_NAME[self.table].order_by.strip("()")
            found.append(f"cityHash64({key}) % {self.parts:d} = {self.part:d}")
        return " AND ".join(found)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Count and checksum that are equal for stores with the same rows, regardless of merges."""

    rows: int
    checksum: int


def fingerprint(
    engine: Engine, table: Table, where: str = "1", settings: Settings | None = None
) -> Fingerprint:
    found = engine.query(
        f"SELECT count(), sum(checksum) FROM (SELECT {_checksum(table)} AS checksum "
        f"FROM {_read(table)} WHERE {where})",
        settings={"max_memory_usage": 0, **(settings or {})},
    ).rows[0]
    return Fingerprint(int(found[0]), int(found[1]))


def planned(source: Engine, known: ShardMap, data: Path) -> list[Unit]:
    """Returns the units of an earlier run for this store, else new ones, which are stored."""
    path = data / PLAN_FILE
    store_id = read_store_id(source) or ""
    if path.exists():
        kept = orjson.loads(path.read_bytes())
        if kept["store"] != store_id:
            raise ConflictError(f"{path} is of another store: remove it")
        return [Unit(one[0], one[1], tuple(one[2]), *one[3:]) for one in kept["units"]]
    units = [unit for table in MIGRATED for unit in _units(source, table, known)]
    rows = [[u.table, u.partition_ms, u.sensors, u.part, u.parts] for u in units]
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(orjson.dumps({"store": store_id, "units": rows}))
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    return units


def check_source(source: Engine, *, without_unmounted: bool) -> None:
    """Raises StartError for a store that cannot be moved completely."""
    if read_store_id(source) is None:
        raise StartError("the embedded store is new or of an old version: start the server once")
    cold = [one.name for one in list_partitions(source) if one.state == "cold"]
    if cold and not without_unmounted:
        raise StartError(
            f"partitions are unmounted and would stay behind: {', '.join(cold)}; mount them on the "
            "old server, or leave them with --without-unmounted"
        )


def check_target(source: Engine, target: Engine, units: list[Unit]) -> None:
    """Raises ConflictError, before more rows are sent, if the cluster has rows other than those
    that an earlier run sent. Rows of large tables are only counted here: they are compared when
    they are moved."""
    for table in MIGRATED:
        found = _count(target, table)
        if not found:
            continue
        own = [unit for unit in units if unit.table == table.name]
        known = sum(_check_unit(source, target, unit) for unit in own)
        if found != known:
            raise ConflictError(
                f"table {table.name} of the cluster has {found - known} rows that this store has "
                "not: was a server started on it?"
            )


def _check_unit(source: Engine, target: Engine, unit: Unit) -> int:
    """Returns the number of the unit's rows in the cluster."""
    table = _BY_NAME[unit.table]
    if table.sharded:
        ours, theirs = (_count(engine, table, unit.where) for engine in (source, target))
        if theirs not in (0, ours):
            raise _other_rows(unit, ours, theirs)
        return theirs
    wanted, found = (fingerprint(engine, table, unit.where) for engine in (source, target))
    if found.rows and found != wanted:
        raise _other_rows(unit, wanted.rows, found.rows)
    return found.rows


def _count(engine: Engine, table: Table, where: str = "1") -> int:
    return int(engine.query(f"SELECT count() FROM {_read(table)} WHERE {where}").rows[0][0])


def _other_rows(unit: Unit, ours: int, theirs: int) -> ConflictError:
    return ConflictError(
        f"table {unit.table} of the cluster has {theirs} rows where this store has {ours} "
        f"({unit.where[:MIGRATION_WHERE_SHOWN_CHARS]}): was a server started on it?"
    )


def move(
    source: ClickHouseEngine,
    target: ClickHouseEngine,
    units: list[Unit],
    note: Callable[[Unit, bool], None],
) -> None:
    """Moves the units; calls `note` with each unit and whether it was sent now.

    Raises ConflictError if the cluster has other rows in a unit's place.
    """
    store_id = read_store_id(source)
    source.command("SYSTEM STOP MERGES")
    for unit in units:
        note(unit, _move_unit(source, target, unit, store_id or ""))


def finish(source: Engine, target: Engine, units: list[Unit]) -> Iterator[tuple[str, Fingerprint]]:
    """Compares whole tables, and writes the store's id to the cluster. Raises ConflictError."""
    for table in MIGRATED:
        partitions = {one.partition_ms for one in units if one.table == table.name} - {None}
        bound = ", ".join(f"{one:d}" for one in sorted(filter(None, partitions))) or "0"
        where = f"partition_ms IN ({bound})" if table.partition_by else "1"
        ours, theirs = (fingerprint(engine, table, where) for engine in (source, target))
        if ours != theirs:
            raise ConflictError(f"table {table.name}: {ours} here, {theirs} in the cluster")
        yield table.name, theirs
    store_id = read_store_id(source)
    assert store_id is not None
    write_store_id(target, store_id)


def _move_unit(
    source: ClickHouseEngine, target: ClickHouseEngine, unit: Unit, store_id: str
) -> bool:
    table = _BY_NAME[unit.table]
    ours, theirs = (fingerprint(engine, table, unit.where) for engine in (source, target))
    if ours == theirs:
        return False
    if theirs.rows:
        raise _other_rows(unit, ours.rows, theirs.rows)
    rows = source.read_arrow(f"SELECT {read_columns(table)} WHERE {unit.where}")
    target.insert_arrow(unit.table, rows, token=f"{store_id}-{unit.where}")
    found = fingerprint(target, table, unit.where)
    if found != ours:
        raise ConflictError(f"table {unit.table}: {ours} were sent, {found} are in the cluster")
    return True


def _units(source: Engine, table: Table, known: ShardMap) -> Iterator[Unit]:
    partition = "partition_ms" if table.partition_by else "0"
    sensor = "sensor_id" if table.sharded else "0"
    counts = source.query(
        f"SELECT {partition} AS place, {sensor} AS sensor, count() FROM {table.name} "
        "GROUP BY place, sensor ORDER BY place, sensor"
    ).rows
    open_units: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for place, sensor_id, count in counts:
        shard = known.shard_of(sensor_id) if table.sharded else 0
        if count > MIGRATION_UNIT_ROWS or not table.sharded:
            yield from _parts(table, place, sensor_id, count)
            continue
        found = open_units.setdefault((place, shard), [])
        if found and sum(rows for _, rows in found) + count > MIGRATION_UNIT_ROWS:
            yield _unit(table, place, found)
            found.clear()
        found.append((sensor_id, count))
    for (place, _), found in open_units.items():
        yield _unit(table, place, found)


def _parts(table: Table, place: int, sensor_id: int, count: int) -> Iterator[Unit]:
    """Yields units for the rows of one sensor, or of a table that is not sharded."""
    parts = math.ceil(count / MIGRATION_UNIT_ROWS)
    for part in range(parts):
        sensors = (sensor_id,) if table.sharded else ()
        yield Unit(table.name, _partition(table, place), sensors, part, parts)


def _unit(table: Table, place: int, found: list[tuple[int, int]]) -> Unit:
    return Unit(table.name, _partition(table, place), tuple(one for one, _ in found), 0, 1)


def _partition(table: Table, place: int) -> int | None:
    return place if table.partition_by else None


def _read(table: Table) -> str:
    return table.name if table.family == "MergeTree" else f"{table.name} FINAL"


def read_columns(table: Table) -> str:
    """Returns the text from after SELECT up to WHERE of a query for whole rows."""
    return f"{', '.join(f'`{name}`' for name in stored_columns(table))} FROM {_read(table)}"


def stored_columns(table: Table) -> dict[str, str]:
    """Maps name to definition for the columns that are not computed."""
    return {
        column.split()[0].strip("`"): column
        for column in table.columns
        if " MATERIALIZED " not in column and " ALIAS " not in column
    }


def _checksum(table: Table) -> str:
    return " + ".join(_hashed(*column) for column in stored_columns(table).items())


def _hashed(name: str, definition: str) -> Any:
    """Returns the SQL hash of a value; for a list, the sum over its members, because merges may
    reorder them."""
    if "Map(" in definition:
        return f"cityHash64(toString(`{name}`))"
    if "Array(" in definition:
        return f"arraySum(one -> cityHash64(one, '{name}'), `{name}`)"
    return f"cityHash64(`{name}`, '{name}')"
