"""Moves sensors from shard to shard while servers run.

Moves some sensors at a time, all in one slot of hosts, in steps recorded in a journal in the state
database (`state/sensors/shard_moves.py`):

1. `copy`: servers refuse records of these sensors (503, senders keep them) and do not read their
   rows on the target. When all servers do so, rows of an earlier attempt on the target are deleted,
   all rows are copied, and each table is compared by count and checksum.
2. `swap`: in one transaction the sensors are assigned to the target; servers read their rows only
   there. When all servers do so, they accept records again.
3. `delete`: rows are deleted on the source, and tables route by the new map.

A read sees each row exactly once at every moment: both copies are the same until the last server
has switched, and every read excludes one of them (`store/engine/shard_routing.py`).
"""

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final
from uuid import uuid4

from vedette import limits
from vedette.cluster.migration import Unit, fingerprint, read_columns
from vedette.errors import BadRequestError, ConflictError, UnavailableError
from vedette.limits import Limit
from vedette.model.host import SensorMove, ShardMap
from vedette.model.ids import slot_of
from vedette.state.db.database import Database
from vedette.state.sensors import shard_moves
from vedette.state.sensors.sensor_shards import load_shard_map
from vedette.state.servers import server_list
from vedette.store.engine.client import ClickHouseEngine, Engine, Settings
from vedette.store.engine.shard_routing import sharding_expression
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.schema.table import Table
from vedette.store.schema.tables import TABLES, distributed

MOVE_WAIT_S: Limit[int] = 600
"""Time that `vedette cluster move` waits for all servers at each step: the duration of the longest
reads."""

MOVE_ALONE_WAIT_S: Limit[int] = 5
"""Time that `vedette cluster move` waits for another one to end; a killed command no longer holds
the lock."""

MOVE_POLL_S: Limit[float] = 0.2
"""Interval between two checks whether all servers have followed."""

SENSORS_MOVED_AT_ONCE: Limit[int] = 16
"""Sensors whose records wait while they are copied to another shard: seconds for a gigabyte."""


Note = Callable[[str], None]

MOVED: Final = tuple(table for table in TABLES if table.sharded)

_MACRO: Final = re.compile(r"[\w.-]{1,64}", re.ASCII)
_MOVING: Final = "moving sensors"
"""Name of a lock in the state database."""
_EVERYWHERE: Final[Settings] = {"optimize_skip_unused_shards": 0}
"""Searches all shards, because the rows are not where table definitions expect them."""


def batches(
    known: ShardMap, sensors: Sequence[int], target: int
) -> Iterator[tuple[SensorMove, ...]]:
    """Yields the sensors that are moved together, without those that are already on the target."""
    places = {one: known.shard_of(one) for one in sensors}
    wanted = sorted((slot_of(one), one) for one, shard in places.items() if shard != target)
    batch: list[SensorMove] = []
    for slot, one in wanted:
        is_full = len(batch) == SENSORS_MOVED_AT_ONCE
        if batch and (
            is_full or slot != slot_of(batch[0].sensor_id) or places[one] != batch[0].source
        ):
            yield tuple(batch)
            batch.clear()
        batch.append(SensorMove(one, places[one], target, "copy"))
    if batch:
        yield tuple(batch)


def check_movable(engine: Engine, state: Database, shards: int, target: int) -> None:
    """Raises BadRequestError if sensors cannot be moved to the target."""
    if not state.name:
        raise BadRequestError("sensors are moved where the state is in PostgreSQL (state_dsn)")
    if not 1 <= target <= shards:
        raise BadRequestError(f"shard {target} does not exist: the cluster has {shards}")
    cold = [one.name for one in list_partitions(engine) if one.state == "cold"]
    if cold:
        raise BadRequestError(
            f"partitions are unmounted and would stay behind, mount them first: {', '.join(cold)}"
        )


def move(
    engine: ClickHouseEngine, state: Database, sensors: Sequence[int], target: int, note: Note
) -> int:
    """Continues interrupted moves, then moves sensors; returns their number. Raises the errors of
    `continue_moves`, and UnavailableError while another command moves sensors."""
    moved = 0
    with state.exclusive(_MOVING, MOVE_ALONE_WAIT_S):
        continue_moves(engine, state, note)
        known = load_shard_map(state)
        assert known is not None
        for batch in batches(known, sensors, target):
            ids = ", ".join(str(one.sensor_id) for one in batch)
            _wait(state, note)  # first: a stuck server would delay these sensors
            note(f"sensors {ids}: shard {batch[0].source} to shard {target}")
            shard_moves.begin(state, batch)
            continue_moves(engine, state, note)
            moved += len(batch)
    return moved


def continue_moves(engine: ClickHouseEngine, state: Database, note: Note) -> None:
    """Completes the moves in the journal; calls `note` with the next step.

    Raises ConflictError if the copy differs, UnavailableError if servers or the store do not
    answer; then the next call continues.
    """
    while moves := shard_moves.under_way(state):
        match moves[0].step:
            case "copy":
                _wait(state, note)
                _copy(engine, moves, note)
                note("swap")
                shard_moves.swap(state, moves)
            case "swap":
                _wait(state, note)
                note("release")
                shard_moves.release(state)
            case "delete":
                for table in MOVED:
                    note(f"delete {table.name}")
                    _delete(engine, table, moves, moves[0].source)
                note("route")
                _route(engine, state)
                note("finish")
                shard_moves.finish(state)


def _wait(state: Database, note: Note) -> None:
    until_s = time.monotonic() + MOVE_WAIT_S
    note("wait")
    while behind := shard_moves.behind(state):
        server_list.end_expired(state)
        if time.monotonic() > until_s:
            raise UnavailableError(
                f"these have not seen for {MOVE_WAIT_S} seconds that sensors are moved: "
                f"{', '.join(behind)}; run the command again"
            )
        time.sleep(MOVE_POLL_S)


def _copy(engine: ClickHouseEngine, moves: Sequence[SensorMove], note: Note) -> None:
    source, target = (_where(moves, shard) for shard in (moves[0].source, moves[0].target))
    for table in MOVED:
        note(f"copy {table.name}")
        ours = fingerprint(engine, table, source, _EVERYWHERE)
        theirs = fingerprint(engine, table, target, _EVERYWHERE)
        if ours == theirs:
            continue
        if theirs.rows:  # from an attempt that was killed
            _delete(engine, table, moves, moves[0].target)
        for unit in _units(engine, table, moves):
            _send(engine, table, unit, moves[0])
    for table in MOVED:
        note(f"compare {table.name}")
        ours = fingerprint(engine, table, source, _EVERYWHERE)
        theirs = fingerprint(engine, table, target, _EVERYWHERE)
        if ours != theirs:
            raise ConflictError(
                f"table {table.name}: {ours} on shard {moves[0].source}, {theirs} on shard "
                f"{moves[0].target}; run the command again"
            )


def _units(engine: Engine, table: Table, moves: Sequence[SensorMove]) -> Iterator[Unit]:
    partition = "partition_ms" if table.partition_by else "0"
    counts = engine.query(
        f"SELECT {partition} AS place, count() FROM {table.name} "
        f"WHERE {_where(moves, moves[0].source)} GROUP BY place ORDER BY place",
        settings=_EVERYWHERE,
    ).rows
    sensors = tuple(one.sensor_id for one in moves)
    for place, count in counts:
        parts = math.ceil(count / limits.MIGRATION_UNIT_ROWS)
        for part in range(parts):
            yield Unit(table.name, place if table.partition_by else None, sensors, part, parts)


def _send(engine: ClickHouseEngine, table: Table, unit: Unit, move: SensorMove) -> None:
    rows = engine.read_arrow(
        f"SELECT {read_columns(table)} WHERE _shard_num = {move.source:d} AND {unit.where}",
        _EVERYWHERE,
    )
    if rows.num_rows:
        engine.insert_on_shard(table.name, rows, move.target, uuid4().hex)


def _delete(engine: Engine, table: Table, moves: Sequence[SensorMove], shard: int) -> None:
    """Deletes rows on one shard. The statement runs on all shards; each server compares its macro
    with the shard's, which all replicas of a shard share."""
    capabilities = engine.capabilities
    engine.command(
        f"ALTER TABLE `{capabilities.storage(table.name)}`{capabilities.on_cluster} "
        f"DELETE WHERE getMacro('shard') = '{_macro(engine, shard)}' AND {_sensors(moves)} "
        "SETTINGS mutations_sync = 2, allow_nondeterministic_mutations = 1"
    )
    where = _where(moves, shard)
    left = engine.query(f"SELECT count() FROM {table.name} WHERE {where}", settings=_EVERYWHERE)
    if left.rows[0][0]:
        raise UnavailableError(f"table {table.name}: rows on shard {shard} are not deleted yet")


def _macro(engine: Engine, shard: int) -> str:
    """Returns the value of the macro `shard` on the servers of a shard. Raises ConflictError if it
    does not distinguish shards."""
    rows = engine.query(
        "SELECT DISTINCT shardNum(), getMacro('shard') "
        f"FROM cluster('{engine.capabilities.cluster}', system.one)"
    ).rows
    found = {number: str(macro) for number, macro in rows}
    macro = found.get(shard, "")
    if list(found.values()).count(macro) != 1 or not _MACRO.fullmatch(macro):
        raise ConflictError("the servers of each shard need a macro `shard` of their own")
    return macro


def _route(engine: ClickHouseEngine, state: Database) -> None:
    known = load_shard_map(state)
    assert known is not None
    routed = replace(engine.capabilities, sharding_key=sharding_expression(known))
    for table in MOVED:
        engine.command(distributed(table, routed, replaces=True))


def _where(moves: Sequence[SensorMove], shard: int) -> str:
    return f"_shard_num = {shard:d} AND {_sensors(moves)}"


def _sensors(moves: Sequence[SensorMove]) -> str:
    return f"sensor_id IN ({', '.join(f'{one.sensor_id:d}' for one in moves)})"
