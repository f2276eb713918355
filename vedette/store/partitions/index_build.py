"""Builds the suffix-token indexes (`model/suffix_columns.py`) of closed partitions, and lists the
partitions that have them.

Building them costs as much CPU time as an insert, and half of that again in every merge. So inserts
and merges omit all but a few (`store/schema/merge_indexes.py`). A mutation builds them once, when a
partition is closed and merged to one part. The blocks of that part are recorded (table `settled`);
when late rows change them, the indexes are built again.

The list may be some seconds old, or wrong: searches give the same result without an index.
"""

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from vedette.limits import Limit
from vedette.model.suffix_columns import MERGED_SUFFIX_COLUMNS, SUFFIX_COLUMNS, suffix_index_name
from vedette.query.compile.suffix_index import SuffixIndexes
from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine, Settings
from vedette.store.partitions.lifecycle import hot_partition
from vedette.store.schema.merge_indexes import merged_after

SUFFIX_INDEXES_CACHE_S: Limit[int] = 10
"""Maximum age of the cached list of indexed partitions: building indexes takes minutes."""

UNINDEXED_ROWS_MAX: Limit[int] = 4_000
"""Rows without an index for which evaluating the expression takes no longer than reading other
indexes: the inserts of some seconds, until they are merged."""


_known: WeakKeyDictionary[Engine, tuple[float, SuffixIndexes]] = WeakKeyDictionary()
_lock = threading.Lock()


def suffix_indexes(engine: Engine) -> SuffixIndexes:
    """Returns the partitions that have the indexes, cached for some seconds."""
    now = time.monotonic()
    with _lock:
        since, found = _known.get(engine.root, (-math.inf, SuffixIndexes()))
    if now - since > SUFFIX_INDEXES_CACHE_S:
        found = _indexed(_noted(engine), _parts(engine, WHO_ANSWERS), merged_after(engine))
        with _lock:
            _known[engine.root] = (now, found)
    return found


def _indexed(
    noted: Mapping[int, tuple[int, bool]], parts: Mapping[int, "_Parts"], after_ms: int | None
) -> SuffixIndexes:
    indexed = [one for one in parts if noted.get(one) == (parts[one].blocks, True)]
    others = parts.keys() - indexed
    merging = [one for one in others if after_ms is not None and one > after_ms]
    unmerged = sum(parts[one].unmerged_rows for one in merging)
    everywhere: frozenset[str] = frozenset()
    if parts and not others:
        everywhere = frozenset(SUFFIX_COLUMNS)
    elif merging and len(merging) == len(others) and unmerged <= UNINDEXED_ROWS_MAX:
        everywhere = MERGED_SUFFIX_COLUMNS
    return SuffixIndexes(tuple(sorted(indexed)), tuple(sorted(merging)), everywhere)


def index_next_partition(engine: Engine) -> int | None:
    """Runs one step of building the indexes of the oldest closed partition that is one part and
    lacks them: starts the mutation, or records that it is done. Does not block. Returns the
    partition's opening time; None if there is nothing to do."""
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


def add_suffix_indexes(engine: Engine, opened_ms: int) -> None:
    """Builds the indexes of a closed partition; blocks until they are built."""
    _begin(engine, opened_ms, sync=2)
    parts = _parts(engine).get(opened_ms)
    if parts is not None:
        _note(engine, opened_ms, parts.blocks, is_made=True)


def _begin(engine: Engine, opened_ms: int, *, sync: int) -> None:
    each = ", ".join(
        f"MATERIALIZE INDEX {suffix_index_name(column)} IN PARTITION ID '{opened_ms:d}'"
        for column in SUFFIX_COLUMNS
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
        _known.pop(engine.root, None)


def _noted(engine: Engine) -> dict[int, tuple[int, bool]]:
    """Maps partition to (`_Parts.blocks` when the build was started, whether it is done)."""
    found = engine.query("SELECT opened_ms, blocks, is_made FROM settled ORDER BY noted")
    return {row[0]: (row[1], bool(row[2])) for row in found.rows}


@dataclass(frozen=True, slots=True)
class _Parts:
    """Parts of a partition: the largest number on any server; a hash of their blocks, levels and
    indexes to build; and the largest number of rows in unmerged parts on any server."""

    count: int
    blocks: int
    unmerged_rows: int


def _parts(engine: Engine, settings: Settings | None = None) -> dict[int, _Parts]:
    found = engine.query(
        "SELECT toUInt64(partition_id), max(parts), cityHash64({ends:String}, arraySort("
        "arrayDistinct(groupArrayArray(blocks)))), max(unmerged) "
        "FROM (SELECT partition_id, count() AS parts, "
        "groupArray((min_block_number, max_block_number, level)) AS blocks, "
        "sumIf(rows, level = 0) AS unmerged "
        f"FROM {engine.capabilities.system('parts')} "
        "WHERE active AND database = {database:String} AND table = {segment:String} "
        "GROUP BY partition_id, hostName()) GROUP BY partition_id",
        {
            "database": engine.database,
            "segment": engine.capabilities.storage("segment"),
            "ends": ",".join(SUFFIX_COLUMNS),
        },
        settings=settings,
    )
    return {row[0]: _Parts(row[1], row[2], row[3]) for row in found.rows}
