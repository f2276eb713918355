"""Routes rows to the shards that own their sensors.

A Distributed table routes by its own expression, which is the same map. Naming the shard with each
insert is safer: a server of the cluster that missed a change of the definition cannot misplace
rows, and every insert is one block on one shard, which its deduplication token stands for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from vedette.errors import StartError
from vedette.model.host import ShardMap

if TYPE_CHECKING:
    from vedette.store.engine.client import Engine


def sharding_expression(known: ShardMap) -> str:
    """SQL of the slot (shard - 1) of column `sensor_id`. Deterministic, so that the engine can
    tell from the sensors in a condition which shards it need not ask."""
    base = _in_turn(known.ranges[0].shards)
    for later in known.ranges[1:]:
        base = f"if(sensor_id >= {later.first_sensor_id:d}, {_in_turn(later.shards)}, {base})"
    if not known.moved:
        return base
    sensors = ", ".join(f"{one:d}" for one in known.moved)
    slots = ", ".join(f"{shard - 1:d}" for shard in known.moved.values())
    return f"transform(sensor_id, [{sensors}], [{slots}], {base})"


def _in_turn(shards: tuple[int, ...]) -> str:
    if shards == tuple(range(1, len(shards) + 1)):
        return f"toUInt32(sensor_id % {len(shards):d})"
    slots = ", ".join(f"{shard - 1:d}" for shard in shards)
    return f"toUInt32([{slots}][1 + sensor_id % {len(shards):d}])"


def shard_count(engine: Engine) -> int:
    """How many shards the engine's cluster has. Raises StartError for one that is not there."""
    found = engine.query(
        "SELECT max(shard_num) FROM system.clusters WHERE cluster = {cluster:String}",
        {"cluster": engine.capabilities.cluster},
    )
    count = int(found.rows[0][0])
    if not count:
        raise StartError(
            f"the ClickHouse server knows no cluster {engine.capabilities.cluster!r}: name one of "
            "its remote_servers with clickhouse_cluster"
        )
    return count


class ShardRouter:
    """Splits rows by shard, with the newest map. Thread-safe."""

    def __init__(self, load: Callable[[], ShardMap]) -> None:
        """`load` reads the map; raises UnavailableError."""
        self._load = load
        self._lock = threading.Lock()
        self._newest_sensor_id = -1
        self.known = load()

    def split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """The rows of each shard, by its number; `rows` has a column `sensor_id`."""
        column = rows.column("sensor_id")
        found = sorted(pc.unique(column).to_pylist())
        if not found:
            return
        known = self._map(found[-1])
        by_shard: dict[int, list[int]] = {}
        for sensor_id in found:
            by_shard.setdefault(known.shard_of(sensor_id), []).append(sensor_id)
        if len(by_shard) == 1:
            yield next(iter(by_shard)), rows
            return
        for shard, sensors in sorted(by_shard.items()):
            wanted = pa.array(sensors, column.type)
            yield shard, rows.filter(pc.is_in(column, value_set=wanted))

    def refresh(self) -> None:
        """Reads the map again. Raises UnavailableError."""
        known = self._load()
        with self._lock:
            self.known = known

    def _map(self, newest_sensor_id: int) -> ShardMap:
        """A range is in the database before the first sensor that it is for, so a map that is read
        after a sensor was met is right for it."""
        if newest_sensor_id > self._newest_sensor_id:
            self.refresh()
            with self._lock:
                self._newest_sensor_id = max(self._newest_sensor_id, newest_sensor_id)
        return self.known
