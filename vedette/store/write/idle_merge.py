"""Merging what was inserted last, once nothing is inserted any more.

The engine merges eight parts or so of a size at once, because it expects more of them. Before a
pause, several parts are left that no merge has seen: searches look into each of them, and they lack
some indexes (`store/schema/merge_indexes.py`). Asked for a merge, the engine takes the parts that
are worth it most, the last small ones; so asking only while there are several that no merge has
seen rewrites what is large no more often than merges do anyway.
"""

from typing import Final

from vedette.store.engine.client import Engine

QUIET_S: Final = 5.0
"""For how long nothing must have been inserted."""

_UNMERGED_ENOUGH: Final = 2


def merge_when_quiet(engine: Engine, quiet_s: float = QUIET_S) -> int | None:
    """Merges some parts of a partition, when there are such and nothing has been inserted for so
    long, and returns when that is done: the partition's opening time, None when there is none."""
    capabilities = engine.capabilities
    found = engine.query(
        "SELECT toUInt64(partition_id) AS opened_ms FROM (SELECT partition_id, hostName() AS host, "
        "count() AS unmerged, max(modification_time) AS latest "
        f"FROM {capabilities.system('parts')} WHERE active AND level = 0 "
        "AND database = {database:String} AND table = {segment:String} "
        "GROUP BY partition_id, host) GROUP BY opened_ms HAVING max(unmerged) >= {enough:UInt64} "
        "AND max(latest) <= now() - {quiet:Float64} ORDER BY opened_ms DESC LIMIT 1",
        {
            "database": engine.database,
            "segment": capabilities.storage("segment"),
            "enough": _UNMERGED_ENOUGH,
            "quiet": quiet_s,
        },
    ).rows
    if not found:
        return None
    opened_ms: int = found[0][0]
    table = f"`{capabilities.storage('segment')}`{capabilities.on_cluster}"
    engine.command(f"OPTIMIZE TABLE {table} PARTITION ID '{opened_ms:d}'")
    return opened_ms
