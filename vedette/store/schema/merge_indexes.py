"""Suffix-token indexes of `MERGED_SUFFIX_COLUMNS` (`model/suffix_columns.py`), which merges build.

In the open partition these indexes are worth their cost for paths, domains and addresses: about 1
µs and 1.4 bytes per event in every merge. Inserts do not build them.

Querying a part for an index that it lacks is expensive, so readers must know which parts have the
indexes. The name of a part shows whether it was merged; the name of a partition shows its opening
time. When a store is created or upgraded, the table `merging` records the newest partition: merged
parts of later partitions have the indexes. If an older version opens the store in between, it
resets the setting, and the next start records the newest partition again.
"""

from typing import Final

from vedette.model.suffix_columns import MERGED_SUFFIX_COLUMNS
from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine
from vedette.store.schema.table import NO_LATE_INDEXES_ON_MERGE

_MADE: Final = ",".join(sorted(MERGED_SUFFIX_COLUMNS))


def begin_merge_indexes(engine: Engine) -> None:
    """Makes future merges build the indexes; idempotent."""
    is_set = _is_set(engine)
    if is_set and merged_after(engine) is not None:
        return
    # The record comes first: a crash in between repeats both statements.
    engine.command(
        "INSERT INTO merging SELECT {made:String}, {after:UInt64}, now64(6, 'UTC')",
        {"made": _MADE, "after": _newest(engine)},
    )
    if not is_set:
        capabilities = engine.capabilities
        table = f"`{capabilities.storage('segment')}`{capabilities.on_cluster}"
        engine.command(f"ALTER TABLE {table} MODIFY SETTING {NO_LATE_INDEXES_ON_MERGE}")


def merged_after(engine: Engine) -> int | None:
    """Returns the opening time after which merged parts have the indexes; None if it was never
    recorded."""
    found = engine.query(
        "SELECT after_ms FROM merging WHERE made = {made:String} ORDER BY noted DESC LIMIT 1",
        {"made": _MADE},
    ).rows
    return found[0][0] if found else None


def _is_set(engine: Engine) -> bool:
    """Whether the setting is in force on all servers that answer."""
    found = engine.query(
        "SELECT min(position(engine_full, {setting:String}) > 0) "
        f"FROM {engine.capabilities.system('tables')} "
        "WHERE database = {database:String} AND name = {segment:String}",
        {
            "setting": NO_LATE_INDEXES_ON_MERGE,
            "database": engine.database,
            "segment": engine.capabilities.storage("segment"),
        },
        settings=WHO_ANSWERS,
    )
    return bool(found.rows[0][0])


def _newest(engine: Engine) -> int:
    """Returns the opening time of the newest partition with parts, mounted or not; 0 if no
    partition has parts."""
    parts = " UNION ALL ".join(
        f"SELECT partition_id FROM {engine.capabilities.system(name)} "
        f"WHERE {which}database = {{database:String}} AND table = {{segment:String}}"
        for name, which in (("parts", "active AND "), ("detached_parts", ""))
    )
    newest: int = engine.query(
        f"SELECT max(toUInt64OrZero(ifNull(partition_id, ''))) FROM ({parts})",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    ).rows[0][0]
    return newest
