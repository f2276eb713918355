"""Grouped search of segments: the first segment per value of a column (`svc.group`,
docs/api-processes.md#searching-and-reading-processes).

Groups are ordered by their first segments. A page therefore consists of the first segments in
order, without those whose group occurred before; all other groups are only counted.
"""

from collections.abc import Iterable

from vedette.errors import BadRequestError
from vedette.limits import ROWS_DEFAULT, Limit
from vedette.model.columns import KEY
from vedette.model.scope import Scope
from vedette.query.compile.condition import NO_INDEXES, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.segment_search import NEWEST_FIRST, Found, ordering_sql, segment_rows
from vedette.store.sql.column_lists import SORTABLE, quoted
from vedette.store.sql.scope_filter import PLACE, Place, scoped

SEGMENT_GROUPS_AHEAD: Limit[int] = 4
"""Segments read per row of the page: a process typically has two or three."""

SEGMENT_GROUPS_AHEAD_MIN: Limit[int] = 1_000
"""Minimum number of segments read for a page of groups: a query for fewer costs as much."""

SEGMENT_GROUPS_BOUND_MAX: Limit[int] = 20_000
"""Segments up to which their groups are read in a second query by key; with more, the first query
reads the groups too."""


_OF_KEYS = frozenset(column.name for column in KEY)


def search_groups(
    engine: Engine,
    where: Condition,
    scope: Scope,
    column: str,
    order: Order = NEWEST_FIRST,
    *,
    start: int = 0,
    rows: int = ROWS_DEFAULT,
    reach: Reach = EVERYWHERE,
) -> Found:
    """Returns the exact number of groups, and the first segments of `rows` groups from `start` on.
    The unknown value is a group of its own.

    Raises the errors of `search_segments`; the column must be sortable.
    """
    if column not in SORTABLE:
        raise BadRequestError(f"cannot group results by {column!r}")
    where, ordering = scoped(where, scope), ordering_sql(order)
    if not rows:
        return Found(_count(engine, where, column, reach), [])
    most = max((start + rows) * SEGMENT_GROUPS_AHEAD, SEGMENT_GROUPS_AHEAD_MIN)
    ahead = _ahead(engine, where, column, ordering, most, reach)
    firsts = _firsts(ahead)
    is_all = len(ahead) < most
    total = len(firsts) if is_all else _count(engine, where, column, reach)
    if not is_all and len(firsts) < min(start + rows, total):
        keys = _page(engine, where, column, ordering, start, rows, reach)
    else:
        keys = firsts[start : start + rows]
    return Found(total, segment_rows(engine, keys))


def count_groups(
    engine: Engine, where: Condition, scope: Scope, column: str, *, reach: Reach = EVERYWHERE
) -> int:
    """Returns the exact number of groups of the segments that a condition selects."""
    return _count(engine, scoped(where, scope), column, reach)


def _ahead(
    engine: Engine, where: Condition, column: str, ordering: str, most: int, reach: Reach
) -> list[tuple[object, ...]]:
    """Returns the places and groups of the first segments in order. The column is read only for
    those, unless they are very many: reading a text of every segment would cost more than all the
    rest."""
    also = f", {quoted(column)}" if most > SEGMENT_GROUPS_BOUND_MAX else ""
    found = reach.ask(
        engine,
        f"SELECT {PLACE}{also} FROM segment FINAL {where.clause} "
        f"ORDER BY {ordering} LIMIT {most:d}",
        where.params,
        indexes=where.indexes,
    ).rows
    if also:
        return list(found)
    groups = reach.ask(
        engine,
        f"SELECT {PLACE}, {quoted(column)} FROM segment FINAL PREWHERE ({PLACE}) IN "
        "{places:Array(Tuple(UInt64, UInt32, UInt64))}",
        {"places": list(found)},
        indexes=NO_INDEXES,
    ).rows
    by_place = {row[:3]: row[3] for row in groups}
    return [(*place, by_place[place]) for place in map(tuple, found) if place in by_place]


def _firsts(rows: Iterable[tuple[object, ...]]) -> list[Place]:
    """Returns the keys of the first row of every group; the group is the last member of a row."""
    firsts: dict[object, Place] = {}
    for *key, group in rows:
        firsts.setdefault(group, tuple(key))  # type: ignore[arg-type]
    return list(firsts.values())


def _count(engine: Engine, where: Condition, column: str, reach: Reach) -> int:
    # Values that all partial rows of a segment share need no merging.
    final = "FINAL " if where.asks_merged or column not in _OF_KEYS else ""
    # As facets count groups: building a set of numbers takes two thirds of the time of a set of
    # texts.
    sql = f"SELECT uniqExact(cityHash64({quoted(column)})) FROM segment {final}{where.clause}"
    total: int = reach.ask(engine, sql, where.params, indexes=where.indexes).rows[0][0]
    return total


def _page(
    engine: Engine,
    where: Condition,
    column: str,
    ordering: str,
    start: int,
    rows: int,
    reach: Reach,
) -> list[Place]:
    """Returns a page with a high offset, or among groups of very many segments: all segments are
    sorted."""
    page = reach.ask(
        engine,
        f"SELECT {PLACE} FROM segment FINAL {where.clause} "
        f"ORDER BY {ordering} LIMIT 1 BY {quoted(column)} LIMIT {rows:d} OFFSET {start:d}",
        where.params,
        indexes=where.indexes,
    ).rows
    return [(row[0], row[1], row[2]) for row in page]
