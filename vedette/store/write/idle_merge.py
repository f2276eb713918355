"""Merges the parts of the last inserts while the server is idle.

The engine waits for about eight parts of a size before it merges them. When inserts pause, several
parts stay unmerged: searches read each of them, and they lack some indexes
(`store/schema/merge_indexes.py`). `OPTIMIZE` without `FINAL` merges the small parts first, so
requesting it only while several parts are unmerged does not rewrite large parts more often.
"""

from vedette.limits import Limit
from vedette.store.engine.client import Engine

IDLE_MERGE_QUIET_S: Limit[float] = 5.0
"""Seconds without an insert before parts are merged."""

IDLE_MERGE_PARTS_MIN: Limit[int] = 2
"""Unmerged parts of a partition from which an idle store merges them: a single part has nothing to
merge with."""

ALERT_MERGE_QUIET_S: Limit[float] = 10.0
"""Seconds without a new or changed alert before all alerts are merged."""

ALERT_PARTS_MIN: Limit[int] = 2
"""Parts of the alert table from which they are merged: next to a large part, a small part with a
few changed alerts of all times doubles the cost of a search."""

ALERT_MERGE_BYTES_A_SECOND: Limit[float] = 1_000_000.0
"""Bytes per second that merging all alerts may write on average: a million alerts, 80 MB, at most
once in a minute and a half."""


def merge_when_idle(engine: Engine, idle_s: float = IDLE_MERGE_QUIET_S) -> int | None:
    """Merges parts of the newest partition that has unmerged parts and no insert for `idle_s`.
    Blocks until merged; returns the partition's opening time, None if there was nothing to do."""
    capabilities = engine.capabilities
    found = engine.query(
        "SELECT toUInt64(partition_id) AS opened_ms FROM (SELECT partition_id, hostName() AS host, "
        "count() AS unmerged, max(modification_time) AS latest "
        f"FROM {capabilities.system('parts')} WHERE active AND level = 0 "
        "AND database = {database:String} AND table = {segment:String} "
        "GROUP BY partition_id, host) GROUP BY opened_ms HAVING max(unmerged) >= {enough:UInt64} "
        "AND max(latest) <= now() - {idle:Float64} ORDER BY opened_ms DESC LIMIT 1",
        {
            "database": engine.database,
            "segment": capabilities.storage("segment"),
            "enough": IDLE_MERGE_PARTS_MIN,
            "idle": idle_s,
        },
    ).rows
    if not found:
        return None
    opened_ms: int = found[0][0]
    table = f"`{capabilities.storage('segment')}`{capabilities.on_cluster}"
    engine.command(f"OPTIMIZE TABLE {table} PARTITION ID '{opened_ms:d}'")
    return opened_ms


def merge_alerts_when_idle(
    engine: Engine,
    idle_s: float = ALERT_MERGE_QUIET_S,
    bytes_a_second: float = ALERT_MERGE_BYTES_A_SECOND,
) -> bool:
    """Merges all alerts into one part, so that reads need not compare versions: counts and groups
    then take a fifth of the time. Alerts have no partitions and their versions are spread over the
    whole table, so a few changed alerts make every search compare all of them.

    Waits until no alert has changed for `idle_s`, and limits the average write rate to
    `bytes_a_second`. Blocks until merged; returns whether there was something to do."""
    capabilities = engine.capabilities
    found = engine.query(
        "SELECT max(parts) FROM (SELECT count() AS parts, sum(bytes_on_disk) AS bytes, "
        "max(modification_time) AS latest, argMax(modification_time, rows) AS merged "
        f"FROM {capabilities.system('parts')} WHERE active AND database = {{database:String}} "
        "AND table = {alert:String} GROUP BY hostName() "
        "HAVING parts >= {enough:UInt64} AND latest <= now() - {idle:Float64} "
        "AND merged <= now() - bytes / {rate:Float64})",
        {
            "database": engine.database,
            "alert": capabilities.storage("alert"),
            "enough": ALERT_PARTS_MIN,
            "idle": idle_s,
            "rate": bytes_a_second,
        },
    ).rows
    if not found[0][0]:
        return False
    table = f"`{capabilities.storage('alert')}`{capabilities.on_cluster}"
    engine.command(f"OPTIMIZE TABLE {table} FINAL")
    return True
