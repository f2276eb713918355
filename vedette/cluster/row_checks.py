"""Checks of a cluster's rows: writing, reading from every replica, totals, placement of sensors."""

from collections.abc import Iterator
from typing import Final

from vedette.cluster.probe_table import Probe
from vedette.cluster.topology import Replica, shards
from vedette.doctor.finding import Finding
from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.model.columns import EVENT_KINDS
from vedette.model.host import ShardMap
from vedette.store.engine.capabilities import EVERY_REPLICA
from vedette.store.engine.client import ClickHouseEngine, Engine
from vedette.store.engine.shard_routing import sharding_expression

MISPLACED_SENSORS_SHOWN: Limit[int] = 20
"""Sensors that a report names; a fault usually affects all sensors alike."""

SHARD_LOAD_RATIO_MAX: Limit[float] = 1.5
"""Maximum events on a shard as a multiple of a fair share: above it, the shard answers last and
fills first."""


_EVENTS: Final = " + ".join(f"sum({kind.name}_count)" for kind in EVENT_KINDS)
_CATCH_UP: Final = (
    "look at system.replication_queue of that server; it catches up by itself once "
    "its Keeper and the other replicas are reachable"
)


def check_writes(engine: ClickHouseEngine, found: list[Replica]) -> Iterator[Finding]:
    """Inserts a row on each shard, as servers do, and reads it from each replica."""
    probe = Probe(engine)
    written = []
    for shard in shards(found):
        try:
            probe.insert(shard)
        except UnavailableError as error:
            yield Finding(
                "insert",
                "error",
                f"shard {shard}: {error.message}",
                "see that enough of its replicas run and reach their Keeper",
            )
        else:
            written.append(shard)
    places = probe.rows_on_replicas()
    for one in found:
        if one.shard in written:
            yield _read(one, places.get(one.place, {}).get(one.shard, 0))


def _read(one: Replica, rows: int) -> Finding:
    if rows == 1:
        return Finding("read", "ok", f"{one} has what was inserted, once")
    if rows:
        return Finding(
            "read",
            "error",
            f"{one} has {rows} copies of a row that was sent again",
            "inserts are not deduplicated there: see replicated_deduplication_window",
        )
    return Finding("read", "warning", f"{one} does not have what was inserted yet", _CATCH_UP)


def check_totals(engine: Engine, found: list[Replica]) -> Iterator[Finding]:
    """Checks whether the replicas of each shard have the same number of events, and the cluster has
    their sum."""
    cluster = engine.capabilities.cluster
    local = engine.capabilities.storage("segment")
    rows = engine.query(
        f"SELECT _shard_num, {_EVENTS} FROM "
        f"clusterAllReplicas('{cluster}', currentDatabase(), {local}) GROUP BY _shard_num",
        settings=EVERY_REPLICA,
    ).rows
    events = {row[0]: int(row[1]) for row in rows}
    total = 0
    for shard, members in shards(found).items():
        counts = {one: events.get(one.place, 0) for one in members}
        total += max(counts.values())
        if len(set(counts.values())) > 1:
            listed = "; ".join(f"{one}: {count}" for one, count in counts.items())
            yield Finding("totals", "warning", f"replicas differ in events ({listed})", _CATCH_UP)
        else:
            yield Finding("totals", "ok", f"shard {shard}: {max(counts.values())} events")
    seen = int(engine.query(f"SELECT {_EVENTS} FROM segment").rows[0][0])
    if seen < total:
        yield Finding(
            "totals",
            "error",
            f"a search sees {seen} events, the shards have {total}",
            "compare remote_servers of all servers",
        )


def check_placement(engine: Engine, known: ShardMap) -> Iterator[Finding]:
    """Finds sensors on other shards than the map's, and shards with more than their share."""
    wrong = engine.query(
        "SELECT sensor_id, groupUniqArray(_shard_num) FROM process "
        f"WHERE _shard_num != 1 + ({sharding_expression(known)}) GROUP BY sensor_id "
        f"ORDER BY sensor_id LIMIT {MISPLACED_SENSORS_SHOWN:d}",
        settings={"optimize_skip_unused_shards": 0},
    ).rows
    if wrong:
        listed = ", ".join(f"{sensor} (on {places})" for sensor, places in wrong)
        yield Finding(
            "placement",
            "error",
            f"sensors with rows on other shards: {listed}",
            "searches of one process do not find those rows: copy them to the sensor's "
            "shard (docs/operations-cluster-changes.md#growing-the-cluster)",
        )
    else:
        yield Finding("placement", "ok", "every sensor is on its shard alone")
    yield from _balance(engine, known)


def _balance(engine: Engine, known: ShardMap) -> Iterator[Finding]:
    rows = engine.query(
        f"SELECT _shard_num, {_EVENTS}, uniqExact(sensor_id) FROM segment GROUP BY _shard_num"
    ).rows
    events = {shard: int(count) for shard, count, _ in rows}
    mean = sum(events.values()) / max(known.shard_count, 1)
    for shard, count, sensors in sorted(rows):
        share = count / mean if mean else 1.0
        is_full = share > SHARD_LOAD_RATIO_MAX and known.shard_count > 1
        yield Finding(
            "balance",
            "warning" if is_full else "ok",
            f"shard {shard}: {sensors} sensors, {share:.0%} of a fair share of events",
            "new sensors can be kept away from it: `vedette cluster add-shard`" if is_full else "",
        )
