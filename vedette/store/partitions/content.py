"""The content that the deletion of a time partition removes
(docs/api-objects.md#time-partition)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vedette.errors import ConflictError
from vedette.model.columns import EVENT_KINDS
from vedette.model.findings.alert import CLOSED
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import find_partition
from vedette.store.partitions.partition import WRITER, Partition

_EVENTS: Final = " + ".join(f"{kind.name}_count" for kind in EVENT_KINDS)

_ON_SHARDS: Final = {"distributed_product_mode": "local"}
"""Subqueries run on each shard: all rows of a process are on the shard of its sensor."""


@dataclass(frozen=True, slots=True)
class Day:
    """Content of a partition on one day (`YYYY-MM-DD`, UTC) of the server's windows."""

    day: str
    segments: int
    events: int


@dataclass(frozen=True, slots=True)
class Content:
    """The content that the deletion of a partition removes. An unmounted partition cannot be read:
    then `days` is empty and the counts are None."""

    partition: Partition
    days: Sequence[Day] = ()
    segments: int | None = None
    events: int | None = None
    processes: int | None = None
    """Processes with a segment in the partition."""
    hosts: int | None = None
    alerts: int | None = None
    """Alerts whose process has segments in no other mounted partition, so that nothing is left to
    examine."""
    open_alerts: int | None = None
    """Number of these alerts that are not closed."""


def content(engine: Engine, name: str) -> Content:
    """Returns the content of a partition. Raises NotFoundError; ConflictError for the hot
    partition, which cannot be deleted."""
    partition = find_partition(engine, name)
    if partition.state == "hot":
        raise ConflictError(f"{WRITER} is the partition that is written to: it cannot be deleted")
    if partition.state == "cold":
        return Content(partition)
    days = _days(engine, partition.opened_ms)
    alerts, closed = _blind_alerts(engine, partition.opened_ms)
    return Content(
        partition,
        days,
        segments=sum(one.segments for one in days),
        events=sum(one.events for one in days),
        processes=_processes(engine, partition.opened_ms),
        hosts=_hosts(engine, partition.opened_ms),
        alerts=alerts,
        open_alerts=alerts - closed,
    )


def _days(engine: Engine, opened_ms: int) -> list[Day]:
    found = engine.query(
        "SELECT toString(toDate(fromUnixTimestamp64Milli(toInt64(window_ms), 'UTC'))) AS day, "
        f"count(), sum({_EVENTS}) FROM segment FINAL WHERE partition_ms = {{opened:UInt64}} "
        "GROUP BY day ORDER BY day",
        {"opened": opened_ms},
    )
    return [Day(*row) for row in found.rows]


def _processes(engine: Engine, opened_ms: int) -> int:
    # In the order of the table's key, without a set of all processes in memory.
    found = engine.query(
        "SELECT count() FROM (SELECT process_id FROM process "
        "WHERE partition_ms = {opened:UInt64} GROUP BY process_id)",
        {"opened": opened_ms},
        settings={"optimize_aggregation_in_order": 1},
    )
    processes: int = found.rows[0][0]
    return processes


def _hosts(engine: Engine, opened_ms: int) -> int:
    found = engine.query(
        "SELECT uniqExact(sensor_id) FROM segment WHERE partition_ms = {opened:UInt64}",
        {"opened": opened_ms},
    )
    hosts: int = found.rows[0][0]
    return hosts


def _blind_alerts(engine: Engine, opened_ms: int) -> tuple[int, int]:
    """Returns (alerts whose process is stored only in this partition, number of closed ones among
    them). An alert is newer than the partition of its process."""
    since = "created_time >= fromUnixTimestamp64Milli({opened:Int64}, 'UTC')"
    of_alerts = f"SELECT process_id FROM alert WHERE {since} AND process_id != ''"
    only_here = (
        f"SELECT process_id FROM process WHERE process_id IN ({of_alerts}) GROUP BY process_id "
        "HAVING min(partition_ms) = {opened:Int64} AND max(partition_ms) = {opened:Int64}"
    )
    found = engine.query(
        "SELECT count(), countIf(status IN {closed:Array(String)}) "
        f"FROM alert FINAL WHERE {since} AND process_id IN ({only_here})",
        {"opened": opened_ms, "closed": sorted(CLOSED)},
        settings=_ON_SHARDS,
    )
    alerts, closed = found.rows[0]
    return alerts, closed
