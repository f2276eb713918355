"""The first segments of all that a condition on keys selects, and how many those are, without
merging rows.

The value that segments are ordered by is the greatest one of their partial rows. So the rows in
descending order name the segments in theirs: each first at its place, then again. And to count
segments, their keys are told apart.
"""

from concurrent.futures import Future
from typing import Final

from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.engine.query_pool import beside
from vedette.store.partitions.lifecycle import open_partitions
from vedette.store.plan.scope_filter import PLACE, Place
from vedette.store.plan.search_bounds import Reach

_ROWS_A_SEGMENT: Final = 8
_ROWS_LEAST: Final = 100
"""Rows that are read for a page: while a segment is written to, it is several."""

_OPEN: Final = "partition_ms IN {open_partitions:Array(UInt64)}"


def first_places(
    engine: Engine, where: Condition, ordering: str, start: int, rows: int, reach: Reach
) -> tuple[Future[int], list[Place]] | None:
    """How many segments a condition selects for which `choose.can_rank_by_key` holds,
    and `rows` of them from `start` on; None when their rows are too many to tell."""
    counting = beside(_count, engine, where, reach)
    most = max((start + rows) * _ROWS_A_SEGMENT, _ROWS_LEAST)
    found = reach.ask(
        engine,
        f"SELECT {PLACE} FROM segment WHERE {where.sql} ORDER BY {ordering} LIMIT {most:d}",
        where.params,
    ).rows
    places = list(dict.fromkeys((row[0], row[1], row[2]) for row in found))
    if len(places) < start + rows and len(found) == most:
        return None
    return counting, places[start : start + rows]


def _count(engine: Engine, where: Condition, reach: Reach) -> int:
    """Partitions that are written to lie in parts that overlap, where merging costs more than
    telling keys apart; the others hardly need any."""
    found: int = reach.ask(
        engine,
        "SELECT sum(found) FROM ("
        f"SELECT uniqExact(key_hash) AS found FROM segment WHERE {_OPEN} AND ({where.sql}) "
        "GROUP BY window_ms UNION ALL "
        f"SELECT count() FROM segment FINAL WHERE NOT {_OPEN} AND ({where.sql}))",
        {**where.params, "open_partitions": open_partitions(engine)},
        threads=1,
    ).rows[0][0]
    return found
