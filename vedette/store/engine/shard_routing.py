"""Routes rows to the shards that own their sensors.

A Distributed table routes by its own expression, which is the same map. Naming the shard with each
insert is safer: a server of the cluster that missed a change of the definition cannot misplace
rows, and every insert is one block on one shard, which its deduplication token identifies.

While sensors are moved (`cluster/sensor_moves.py`) their rows are on two shards, and every read
excludes one copy. Open statements are counted by the view they began with, so that a server can
tell when no statement uses an older view.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from vedette.errors import StartError, UnavailableError
from vedette.model.host import ShardMap, ShardView
from vedette.store.engine.errors import MOVING

if TYPE_CHECKING:
    from vedette.store.engine.client import Engine, Params, Settings

_FILTER: Final = re.compile(r"'(\w+)': '([^']*)'")
"""A pair of `additional_table_filters`."""


def sharding_expression(known: ShardMap) -> str:
    """Returns the SQL expression of the slot (shard - 1) of column `sensor_id`. It is
    deterministic, so the engine can skip shards that cannot have the sensors of a condition."""
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
    """Returns the number of shards of the engine's cluster. Raises StartError for an unknown
    cluster."""
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


def replica_count(engine: Engine) -> int:
    """Returns the largest number of replicas of a shard of the engine's cluster; 0 without a
    cluster."""
    found = engine.query(
        "SELECT max(replica_num) FROM system.clusters WHERE cluster = {cluster:String}",
        {"cluster": engine.capabilities.cluster},
    )
    return int(found.rows[0][0])


@contextmanager
def placed_read(
    router: ShardRouter | None, engine: Engine, sql: str, settings: Settings
) -> Iterator[tuple[str, Settings]]:
    """Yields the statement and settings of a read, adapted while sensors are moved. The read counts
    as open until the block ends."""
    if router is None:
        yield sql, settings
        return
    with router.using() as view:
        if view.moves:
            asked = settings.get("additional_table_filters", "")
            settings = {**settings, **hiding(view, router.tables, engine.database, asked)}
            # Table filters do not apply to a projection that is read directly.
            sql = sql.replace(engine.capabilities.by_process, "segment")
        yield sql, settings


MOVED: Final = "moved_sensors"
"""Parameter for the sensors that are being moved: a statement must skip them, because its writes
would be lost with the copy that it changes."""


@contextmanager
def placed_command(
    router: ShardRouter | None, sql: str, params: Params | None = None
) -> Iterator[Params | None]:
    """Yields the parameters of a command, which counts as open until the block ends. Raises
    UnavailableError for a command that changes rows on all shards while some are copied."""
    if router is None:
        yield _with_moved(sql, params, ())
        return
    with router.using() as view:
        if view.moves and sql.startswith("ALTER TABLE"):
            raise _moving()
        yield _with_moved(sql, params, [one.sensor_id for one in view.moves])


def _with_moved(sql: str, params: Params | None, sensors: Sequence[int]) -> Params | None:
    return {**(params or {}), MOVED: list(sensors)} if f"{{{MOVED}:" in sql else params


def _moving() -> UnavailableError:
    return UnavailableError(MOVING, reason="moving")


def hiding(view: ShardView, tables: Collection[str], database: str, asked: object) -> Settings:
    """Returns the settings of a read while sensors are moved: the rows of each sensor are read on
    one shard, and all shards are queried, since table definitions still route as before. `asked` is
    the `additional_table_filters` of the read itself."""
    places = " OR ".join(
        f"(shardNum() = {shard:d} AND sensor_id IN ({', '.join(map(str, sensors))}))"
        for shard, sensors in sorted(view.hidden.items())
    )
    found = dict(_FILTER.findall(str(asked or "")))
    for table in tables:
        also = found.pop(f"{table}_local", "1")
        found[f"{database}.{table}_local"] = f"({also}) AND NOT ({places})"
    pairs = ", ".join(f"'{name}': '{one}'" for name, one in found.items())
    return {"additional_table_filters": f"{{{pairs}}}", "optimize_skip_unused_shards": 0}


class ShardRouter:
    """Splits rows by shard, with the newest map. Thread-safe."""

    def __init__(
        self,
        load: Callable[[], ShardView],
        tables: frozenset[str] = frozenset(),
        fresh_s: float = math.inf,
    ) -> None:
        """`load` reads the view, and raises UnavailableError. The view counts as fresh for
        `fresh_s` seconds. `tables` are the tables whose rows are split."""
        self.tables = tables
        self._load = load
        self._lock = threading.Lock()
        self._newest_sensor_id = -1
        self._view = load()
        self._uses: Counter[int] = Counter()
        """Number of open statements by the view version they began with."""
        self._fresh_until_s = time.monotonic() + fresh_s

    @property
    def known(self) -> ShardMap:
        return self._view.known

    @property
    def version(self) -> int:
        return self._view.version

    def oldest_in_use(self) -> int:
        """Returns the version of the oldest view that an open statement uses."""
        with self._lock:
            return min([self._view.version, *self._uses])

    def fresh_until(self, until_s: float) -> None:
        """Sets the time (monotonic clock) from which the view is read again before each use: after
        it, moves no longer wait for this server."""
        self._fresh_until_s = until_s

    @contextmanager
    def using(self) -> Iterator[ShardView]:
        """Yields the view for one read or write, which counts as open until the block ends. Raises
        UnavailableError."""
        if time.monotonic() >= self._fresh_until_s:
            self.refresh()
        with self._lock:
            view = self._view
            self._uses[view.version] += 1
        try:
            yield view
        finally:
            with self._lock:
                self._uses[view.version] -= 1
                if not self._uses[view.version]:
                    del self._uses[view.version]

    def split(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Yields (shard number, its rows); `rows` has a column `sensor_id`. Raises UnavailableError
        before the first item if a sensor is locked for a move."""
        column = rows.column("sensor_id")
        found = sorted(pc.unique(column).to_pylist())
        if not found:
            return
        view = self._newest_view(found[-1])
        if not view.held.isdisjoint(found):
            raise _moving()
        by_shard: dict[int, list[int]] = {}
        for sensor_id in found:
            by_shard.setdefault(view.known.shard_of(sensor_id), []).append(sensor_id)
        if len(by_shard) == 1:
            yield next(iter(by_shard)), rows
            return
        for shard, sensors in sorted(by_shard.items()):
            wanted = pa.array(sensors, column.type)
            yield shard, rows.filter(pc.is_in(column, value_set=wanted))

    def refresh(self) -> None:
        """Reads the view again. Raises UnavailableError."""
        view = self._load()
        with self._lock:
            if view.version >= self._view.version:
                self._view = view

    def _newest_view(self, newest_sensor_id: int) -> ShardView:
        """Returns a view that covers a sensor. A range is in the database before the first sensor
        in it, so a map read after the sensor appeared is correct for it."""
        if newest_sensor_id > self._newest_sensor_id:
            self.refresh()
            with self._lock:
                self._newest_sensor_id = max(self._newest_sensor_id, newest_sensor_id)
        return self._view
