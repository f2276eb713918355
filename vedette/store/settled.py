"""Partitions whose end tokens are in an index (`model/ends.py`): making those indexes, and knowing
which partitions have them.

Making them costs as much processor time as an insert and half as much again in every merge, so
neither does. They are made once, when a partition is one part and nothing is written to it any
more: a mutation that adds files and leaves all others. Which blocks the parts had then is written
down (table `settled`); when they are merged with late rows, it is done again.

What is known may be a minute old, or wrong: the expression means the same without an index.
"""

import threading
import time
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from vedette.model.ends import ENDS, ends_index
from vedette.store.engine import Engine
from vedette.store.partitions import hot_partition

_KNOWN_FOR_S: Final = 60

_known: WeakKeyDictionary[Engine, tuple[float, tuple[int, ...]]] = WeakKeyDictionary()
_lock = threading.Lock()


def settled_partitions(engine: Engine) -> tuple[int, ...]:
    """Opening times of the partitions that have the indexes, as of a minute ago."""
    now = time.monotonic()
    with _lock:
        since, found = _known.get(engine, (-1.0, ()))
    if since < 0 or now - since > _KNOWN_FOR_S:
        noted, parts = _noted(engine), _parts(engine)
        made = (one for one in parts if noted.get(one) == (parts[one].blocks, True))
        found = tuple(sorted(made))
        with _lock:
            _known[engine] = (now, found)
    return found


def settle(engine: Engine) -> int | None:
    """The next step of making the indexes of the oldest partition that is one part, closed, and
    has none: begin, or see that they are made. Waits for nothing; the opening time of the
    partition, None when there is none."""
    noted, hot = _noted(engine), hot_partition(engine)
    for opened_ms, parts in sorted(_parts(engine).items()):
        if parts.count != 1 or opened_ms == hot or noted.get(opened_ms) == (parts.blocks, True):
            continue
        if noted.get(opened_ms) != (parts.blocks, False):
            _begin(engine, opened_ms, sync=0)
            _note(engine, opened_ms, parts.blocks, is_made=False)
        elif not _is_busy(engine):
            _note(engine, opened_ms, parts.blocks, is_made=True)
        return opened_ms
    return None


def add_ends(engine: Engine, opened_ms: int) -> None:
    """Makes the indexes of a partition that nothing is written to; returns when they are made."""
    _begin(engine, opened_ms, sync=2)
    parts = _parts(engine).get(opened_ms)
    if parts is not None:
        _note(engine, opened_ms, parts.blocks, is_made=True)


def _begin(engine: Engine, opened_ms: int, *, sync: int) -> None:
    each = ", ".join(
        f"MATERIALIZE INDEX {ends_index(column)} IN PARTITION ID '{opened_ms:d}'" for column in ENDS
    )
    capabilities = engine.capabilities
    table = f"`{capabilities.storage('segment')}`{capabilities.on_cluster}"
    engine.command(f"ALTER TABLE {table} {each} SETTINGS mutations_sync = {sync:d}")


def _is_busy(engine: Engine) -> bool:
    found = engine.query(
        f"SELECT count() FROM {engine.capabilities.system('mutations')} WHERE NOT is_done "
        "AND database = {database:String} AND table = {segment:String}",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    )
    return bool(found.rows[0][0])


def _note(engine: Engine, opened_ms: int, blocks: int, *, is_made: bool) -> None:
    engine.command(
        "INSERT INTO settled SELECT {opened:UInt64}, {blocks:UInt64}, {made:UInt8}, "
        "now64(6, 'UTC')",
        {"opened": opened_ms, "blocks": blocks, "made": int(is_made)},
    )
    with _lock:
        _known.pop(engine, None)


def _noted(engine: Engine) -> dict[int, tuple[int, bool]]:
    """What `_Parts.blocks` of each partition was when its indexes were begun, and whether they
    were made."""
    found = engine.query("SELECT opened_ms, blocks, is_made FROM settled ORDER BY noted")
    return {row[0]: (row[1], bool(row[2])) for row in found.rows}


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a partition: the most on a server, and a number that says which blocks and
    merges they are made of."""

    count: int
    blocks: int


def _parts(engine: Engine) -> dict[int, _Parts]:
    found = engine.query(
        "SELECT toUInt64(partition_id), max(parts), cityHash64(arraySort(arrayDistinct("
        "groupArrayArray(blocks)))) FROM (SELECT partition_id, count() AS parts, "
        "groupArray((min_block_number, max_block_number, level)) AS blocks "
        f"FROM {engine.capabilities.system('parts')} "
        "WHERE active AND database = {database:String} AND table = {segment:String} "
        "GROUP BY partition_id, hostName()) GROUP BY partition_id",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    )
    return {row[0]: _Parts(row[1], row[2]) for row in found.rows}
