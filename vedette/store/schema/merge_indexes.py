"""Suffix-token indexes of `MERGED_SUFFIX_COLUMNS` (`model/suffix_columns.py`) that merges build.

In the open partition these indexes are worth their cost for paths, domains and addresses: about a
microsecond and 1.4 bytes an event in every merge. Inserts do not build them.

Asking a part for an index it lacks is expensive, so it must be known which parts have them. A
part's name shows whether it was merged, a partition's name when it was opened. When a store is
created or an older one opened, the newest partition is recorded (table `merging`): merged parts of
later partitions have the indexes. An older version that opens the store in between resets the
setting; then the record is made again.
"""

from typing import Final

from vedette.model.suffix_columns import MERGED_SUFFIX_COLUMNS
from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine
from vedette.store.schema.table import NO_LATE_INDEXES_ON_MERGE

_MADE: Final = ",".join(sorted(MERGED_SUFFIX_COLUMNS))


def begin_merge_indexes(engine: Engine) -> None:
    """Makes merges build the indexes from now on; idempotent."""
    is_set = _is_set(engine)
    if is_set and merged_after(engine) is not None:
        return
    # Recorded first: a crash in between repeats both.
    engine.command(
        "INSERT INTO merging SELECT {made:String}, {after:UInt64}, now64(6, 'UTC')",
        {"made": _MADE, "after": _newest(engine)},
    )
    if not is_set:
        capabilities = engine.capabilities
        table = f"`{capabilities.storage('segment')}`{capabilities.on_cluster}"
        engine.command(f"ALTER TABLE {table} MODIFY SETTING {NO_LATE_INDEXES_ON_MERGE}")


def merged_after(engine: Engine) -> int | None:
    """Opening time after which merged parts have the indexes; None when it was never recorded."""
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
    """Opening time of the newest partition that has parts, mounted or not; 0 when none has."""
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
