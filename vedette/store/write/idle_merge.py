"""Merges the parts of the last inserts while the server is idle.

The engine waits for about eight parts of a size before it merges them. When inserts pause, several
parts stay unmerged: searches read each of them, and they lack some indexes
(`store/schema/merge_indexes.py`). `OPTIMIZE` without `FINAL` takes the small parts first, so asking
for it only while several are unmerged does not rewrite large parts more often.
"""

from typing import Final

from vedette.store.engine.client import Engine

QUIET_S: Final = 5.0
"""Seconds without an insert before parts are merged."""

_UNMERGED_ENOUGH: Final = 2


def merge_when_quiet(engine: Engine, quiet_s: float = QUIET_S) -> int | None:
    """Merges parts of the newest partition that has unmerged ones and no insert for `quiet_s`.
    Blocks until merged; returns the partition's opening time, None when there was nothing to do."""
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
