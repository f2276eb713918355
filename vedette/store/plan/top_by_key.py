"""Runs `TopByKey`: count and first page of the segments that a condition on keys selects, without
merging.

A segment's sort value is the greatest of its partial rows. So rows in descending order yield the
segments in order; later rows of a segment are repeats. Segments are counted by distinct keys.
"""

from concurrent.futures import Future
from typing import Final

from vedette.limits import Limit
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import open_partitions
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.scope_filter import PLACE, Place

TOP_BY_KEY_ROWS_A_SEGMENT: Limit[int] = 8
"""Rows read per segment of a page: a segment being written has several, until they are merged."""

TOP_BY_KEY_ROWS_MIN: Limit[int] = 100
"""Minimum number of rows read for a page: a few more cost nothing."""


_OPEN: Final = "partition_ms IN {open_partitions:Array(UInt64)}"


def first_places(
    engine: Engine, where: Condition, ordering: str, start: int, rows: int, reach: Reach
) -> tuple[Future[int], list[Place]] | None:
    """Returns (future of the number of segments that a condition selects, places of `rows` of them
    from `start` on); None if they have too many rows. `choose.can_rank_by_key` must hold for the
    condition. Raises UnavailableError."""
    counting = engine.query_pool.submit(_count, engine, where, reach)
    most = max((start + rows) * TOP_BY_KEY_ROWS_A_SEGMENT, TOP_BY_KEY_ROWS_MIN)
    found = reach.ask(
        engine,
        f"SELECT {PLACE} FROM segment WHERE {where.sql} ORDER BY {ordering} LIMIT {most:d}",
        where.params,
        indexes=where.indexes,
    ).rows
    places = list(dict.fromkeys((row[0], row[1], row[2]) for row in found))
    if len(places) < start + rows and len(found) == most:
        return None
    return counting, places[start : start + rows]


def _count(engine: Engine, where: Condition, reach: Reach) -> int:
    """Counts distinct keys in open partitions, whose overlapping parts are expensive to merge; uses
    FINAL in closed ones, which hardly need merging."""
    found: int = reach.ask(
        engine,
        "SELECT sum(found) FROM ("
        f"SELECT uniqExact(key_hash) AS found FROM segment WHERE {_OPEN} AND ({where.sql}) "
        "GROUP BY window_ms UNION ALL "
        f"SELECT count() FROM segment FINAL WHERE NOT {_OPEN} AND ({where.sql}))",
        {**where.params, "open_partitions": open_partitions(engine)},
        indexes=where.indexes,
        threads=1,
    ).rows[0][0]
    return found
