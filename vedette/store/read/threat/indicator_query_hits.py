"""Finds documents among some rows that match a compiled query of a feed."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from vedette.limits import INDICATOR_HITS_PAGE
from vedette.model.columns import KEY
from vedette.model.scope import EVERYTHING
from vedette.query.compile.condition import SETTINGS, BinaryCondition, Condition
from vedette.store.engine.client import Engine
from vedette.store.read.detection.touched import touched_segment
from vedette.store.read.threat.indicator_matches import (
    AFTER,
    SHOWN,
    BinaryHit,
    MatchedRows,
    SegmentHit,
    after_params,
    binary_pages,
)
from vedette.store.sql.scope_filter import SEGMENT_KEY, scope_params

_KEYS: Final = ", ".join(f"`{column.name}`" for column in KEY)
_SHOWN: Final = ", ".join(f"`{name}`" for name in SHOWN)


def query_indicators(engine: Engine, feed_ids: Sequence[int], now_us: int) -> list[dict[str, Any]]:
    """Returns the active indicators of some feeds that are queries."""
    return engine.query(
        "SELECT feed_id, report_id, ioc_type, value, index_type, confidence, added "
        "FROM indicator FINAL WHERE ioc_type = 'query' AND feed_id IN {feeds:Array(UInt32)} "
        "AND NOT is_deleted AND (toUnixTimestamp64Micro(expires) = 0 "
        "OR toUnixTimestamp64Micro(expires) > {now:Int64}) ORDER BY feed_id, report_id, value",
        {"feeds": list(feed_ids), "now": now_us},
    ).dicts()


def segments_matching(
    engine: Engine, where: Condition, rows: MatchedRows, deadline_s: float, key: int
) -> Iterator[list[SegmentHit]]:
    """Yields the segments that have one of the rows and match, in pages, with `key` as their key.
    The query is evaluated on whole segments."""
    touched = (
        "(window_ms, sensor_id, key_hash) IN (SELECT window_ms, sensor_id, key_hash "
        f"FROM segment WHERE {rows.condition})"
    )
    after: tuple[Any, ...] = ()
    while True:
        further = f"({SEGMENT_KEY}) > {AFTER} AND {touched}" if after else touched
        params = {**rows.params, **scope_params(EVERYTHING), **after_params(after)}
        within = where.within(further, params)
        found = engine.query(
            f"SELECT {_KEYS}, key_hash, seq, toUnixTimestamp64Micro(last_update), {_SHOWN} "
            f"FROM segment FINAL {within.clause} ORDER BY {SEGMENT_KEY} "
            f"LIMIT {INDICATOR_HITS_PAGE:d}",
            within.params,
            settings=SETTINGS,
            deadline_s=deadline_s,
        ).rows
        if found:
            yield [_hit(row, key) for row in found]
        if len(found) < INDICATOR_HITS_PAGE:
            return
        last = touched_segment(found[-1][: len(KEY) + 2]).key
        after = (last.window_ms, last.sensor_id, last.process_id, last.segment_id)


def _hit(row: Sequence[Any], key: int) -> SegmentHit:
    at = len(KEY) + 2
    shown = dict(zip(SHOWN, row[at + 1 :], strict=True))
    return SegmentHit(touched_segment(row[:at]), (key,), row[at], shown)


def binaries_matching(
    engine: Engine, where: BinaryCondition, rows: MatchedRows, deadline_s: float, key: int
) -> Iterator[list[BinaryHit]]:
    """Yields the binaries among the rows that match, with each host of these rows, in pages, with
    `key` as their key."""
    touched = f"SELECT hash FROM binary WHERE {rows.binaries}"
    found = engine.query(
        f"SELECT hash FROM ({where.binaries}) WHERE hash IN ({touched}) ORDER BY hash",
        {**where.params, **rows.params, **scope_params(EVERYTHING)},
        settings=SETTINGS,
        deadline_s=deadline_s,
    ).rows
    digests = [row[0] for row in found]
    for at in range(0, len(digests), INDICATOR_HITS_PAGE):
        some = digests[at : at + INDICATOR_HITS_PAGE]
        which = f"({rows.binaries}) AND hash IN {{digests:Array(String)}}"
        yield from binary_pages(
            engine, f"[toInt64({key:d})]", which, {**rows.params, "digests": some}
        )
