"""Runs `TopByKey`: count and first page of the segments that a condition on keys selects, without
merging.

A segment's sort value is the greatest of its partial rows, so rows in descending order name the
segments in order, each first at its place, then again. Segments are counted by distinct keys.
"""

from concurrent.futures import Future
from typing import Final

from vedette.limits import TOP_BY_KEY_ROWS_A_SEGMENT, TOP_BY_KEY_ROWS_MIN
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import open_partitions
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.scope_filter import PLACE, Place

_OPEN: Final = "partition_ms IN {open_partitions:Array(UInt64)}"


def first_places(
    engine: Engine, where: Condition, ordering: str, start: int, rows: int, reach: Reach
) -> tuple[Future[int], list[Place]] | None:
    """The number of segments that a condition selects (`choose.can_rank_by_key` holds for it),
    still being counted, and the places of `rows` of them from `start` on; None when they have too
    many rows. Raises UnavailableError."""
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
    """Distinct keys in open partitions, whose overlapping parts are expensive to merge; FINAL in
    closed ones, which hardly need merging."""
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
