"""Rule hits in commit order, from which alerts are created.

An internal read of the server, so its scope is everything.
"""

from typing import Any

from msgspec import Struct

from vedette.model.findings.detection import RuleHit
from vedette.store.engine.client import Engine

_COLUMNS = (
    "rule_id, generation, sensor_id, subject, process_id, segment_id, md5, time, last_time, "
    "`count`, matched, event, seq, committed, partition_ms"
)


class StoredHit(Struct):
    """A hit, with the commit that stored it."""

    hit: RuleHit
    seq: int
    committed_us: int
    partition_ms: int


class HitPage(Struct):
    """The hits of all commits after a given one, up to `until_seq`."""

    hits: list[StoredHit]
    until_seq: int


def hits_after(engine: Engine, seq: int, settled_seq: int, rows_max: int) -> HitPage:
    """Returns the hits of the commits after `seq` that have together at most `rows_max` hits, at
    least of one commit; none after `settled_seq`."""
    commits = engine.query(
        "SELECT seq, count() FROM hit WHERE seq > {seq:UInt64} AND seq <= {settled:UInt64} "
        "GROUP BY seq ORDER BY seq LIMIT {commits:UInt64}",
        {"seq": seq, "settled": settled_seq, "commits": rows_max},
    ).rows
    until_seq, rows = seq, 0
    for commit, count in commits:
        if rows and rows + count > rows_max:
            break
        until_seq, rows = commit, rows + count
    if not rows:
        return HitPage([], seq)
    found = engine.query(
        f"SELECT {_COLUMNS} FROM hit WHERE seq > {{seq:UInt64}} AND seq <= {{until:UInt64}} "
        "ORDER BY seq, rule_id, sensor_id, subject, time",
        {"seq": seq, "until": until_seq},
    )
    return HitPage([_hit(row) for row in found.dicts()], until_seq)


class ProcessHit(Struct):
    """A rule that fired on an event of a process, with the values of the event."""

    rule_id: str
    process_id: str
    segment_id: int
    time_us: int
    count: int
    values: list[str]


def newest_process_hits(engine: Engine, since_us: int, most: int) -> list[ProcessHit]:
    """Returns the hits on processes that were committed since a time, the newest `most` of each
    rule."""
    found = engine.query(
        "SELECT rule_id, process_id, segment_id, time, `count`, mapValues(event) FROM hit "
        "WHERE committed >= fromUnixTimestamp64Micro({since:Int64}, 'UTC') AND process_id != '' "
        f"ORDER BY time DESC LIMIT {most:d} BY rule_id",
        {"since": since_us},
    ).rows
    return [ProcessHit(*row) for row in found]


def _hit(row: dict[str, Any]) -> StoredHit:
    return StoredHit(
        RuleHit(
            rule_id=row["rule_id"],
            generation=row["generation"],
            sensor_id=row["sensor_id"],
            subject=row["subject"],
            process_id=row["process_id"],
            segment_id=row["segment_id"],
            md5=row["md5"],
            time_us=row["time"],
            last_us=row["last_time"],
            count=row["count"],
            matched=dict(row["matched"]),
            event=dict(row["event"]),
        ),
        row["seq"],
        row["committed"],
        row["partition_ms"],
    )
