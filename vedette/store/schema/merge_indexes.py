"""Since when merges make the indexes of end tokens of `MERGED_ENDS` (`model/suffix_columns.py`).

Searches look at the partition that is written to, and for paths of files, domains and addresses
these indexes are worth their cost there: about a microsecond an event in every merge, and 1.4
bytes. Inserts do not make them.

Which parts have them must be known, because asking one that does not is dear. A part tells by its
name whether it was merged, and a partition, which is named by its opening time, whether it was
opened after merges began to. So what is written down, when a store is made or an older one opened,
is the newest partition that it has (table `merging`). An older version that opens the store in
between changes the setting back, and then it is written down again.
"""

from typing import Final

from vedette.model.suffix_columns import MERGED_ENDS
from vedette.store.engine.client import Engine
from vedette.store.schema.tables import NO_ENDS_ON_MERGE

_MADE: Final = ",".join(sorted(MERGED_ENDS))


def begin_merged_ends(engine: Engine) -> None:
    """Have merges make the indexes from now on; calling it again changes nothing."""
    is_set = _is_set(engine)
    if is_set and merged_after(engine) is not None:
        return
    # Noted before it is so: what a crash leaves behind in between is done again.
    engine.command(
        "INSERT INTO merging SELECT {made:String}, {after:UInt64}, now64(6, 'UTC')",
        {"made": _MADE, "after": _newest(engine)},
    )
    if not is_set:
        capabilities = engine.capabilities
        table = f"`{capabilities.storage('segment')}`{capabilities.on_cluster}"
        engine.command(f"ALTER TABLE {table} MODIFY SETTING {NO_ENDS_ON_MERGE}")


def merged_after(engine: Engine) -> int | None:
    """The merged parts of partitions that were opened after this have the indexes; None when that
    was never written down."""
    found = engine.query(
        "SELECT after_ms FROM merging WHERE made = {made:String} ORDER BY noted DESC LIMIT 1",
        {"made": _MADE},
    ).rows
    return found[0][0] if found else None


def _is_set(engine: Engine) -> bool:
    """Whether merges make the indexes on all servers."""
    found = engine.query(
        "SELECT min(position(engine_full, {setting:String}) > 0) "
        f"FROM {engine.capabilities.system('tables')} "
        "WHERE database = {database:String} AND name = {segment:String}",
        {
            "setting": NO_ENDS_ON_MERGE,
            "database": engine.database,
            "segment": engine.capabilities.storage("segment"),
        },
    )
    return bool(found.rows[0][0])


def _newest(engine: Engine) -> int:
    """Opening time of the newest partition that has parts, mounted or not; 0 when none has."""
    parts = " UNION ALL ".join(
        f"SELECT partition_id FROM {engine.capabilities.system(name)} "
        "WHERE database = {database:String} AND table = {segment:String}"
        for name in ("parts", "detached_parts")
    )
    newest: int = engine.query(
        f"SELECT max(toUInt64OrZero(ifNull(partition_id, ''))) FROM ({parts})",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    ).rows[0][0]
    return newest
