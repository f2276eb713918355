"""Documents among some rows that match a compiled query of a feed."""

from collections.abc import Sequence
from typing import Any, Final

from vedette.limits import INDICATOR_HITS_MAX
from vedette.model.columns import KEY
from vedette.model.scope import EVERYTHING
from vedette.query.compile.condition import SETTINGS, BinaryCondition, Condition
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import touched_segment
from vedette.store.read.threat.indicator_matches import SHOWN, Rows, SegmentHit
from vedette.store.sql.scope_filter import scope_params

_KEYS: Final = ", ".join(f"`{column.name}`" for column in KEY)
_SHOWN: Final = ", ".join(f"`{name}`" for name in SHOWN)


def query_indicators(engine: Engine, feed_ids: Sequence[int], now_us: int) -> list[dict[str, Any]]:
    """The indicators of some feeds that are queries and count now."""
    return engine.query(
        "SELECT feed_id, report_id, ioc_type, value, index_type, confidence, added "
        "FROM indicator FINAL WHERE ioc_type = 'query' AND feed_id IN {feeds:Array(UInt32)} "
        "AND NOT is_deleted AND (toUnixTimestamp64Micro(expires) = 0 "
        "OR toUnixTimestamp64Micro(expires) > {now:Int64}) ORDER BY feed_id, report_id, value",
        {"feeds": list(feed_ids), "now": now_us},
    ).dicts()


def segments_matching(
    engine: Engine, where: Condition, rows: Rows, deadline_s: float
) -> list[SegmentHit]:
    """The segments that have one of the rows and match; whole segments are judged."""
    touched = (
        "(window_ms, sensor_id, key_hash) IN (SELECT window_ms, sensor_id, key_hash "
        f"FROM segment WHERE {rows.condition})"
    )
    within = where.within(touched, {**rows.params, **scope_params(EVERYTHING)})
    found = engine.query(
        f"SELECT {_KEYS}, key_hash, seq, toUnixTimestamp64Micro(last_update), {_SHOWN} "
        f"FROM segment FINAL {within.clause} ORDER BY window_ms, process_id, segment_id "
        f"LIMIT {INDICATOR_HITS_MAX:d}",
        within.params,
        settings=SETTINGS,
        deadline_s=deadline_s,
    ).rows
    at = len(KEY) + 2
    return [
        SegmentHit(
            touched_segment(row[:at]),
            (),
            row[at],
            dict(zip(SHOWN, row[at + 1 :], strict=True)),
        )
        for row in found
    ]


def binaries_matching(
    engine: Engine, where: BinaryCondition, rows: Rows, deadline_s: float
) -> list[str]:
    """The `hash` of the binaries that match: those that have one of the rows, or all where the
    rows are of segments."""
    touched = f" AND hash IN (SELECT hash FROM binary WHERE {rows.condition})"
    found = engine.query(
        f"SELECT hash FROM ({where.binaries}){' WHERE 1' + touched if rows.has_binaries else ''} "
        f"ORDER BY hash LIMIT {INDICATOR_HITS_MAX:d}",
        {**where.params, **rows.params, **scope_params(EVERYTHING)},
        settings=SETTINGS,
        deadline_s=deadline_s,
    ).rows
    return [row[0] for row in found]
