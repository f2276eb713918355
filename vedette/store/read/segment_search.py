"""Runs a search of segments: the number of matches, and the metadata of one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

from vedette.errors import BadRequestError
from vedette.limits import ROWS_DEFAULT
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.choose import can_group_rows, choose_ranking
from vedette.store.plan.plan import CountOnly, MergedSort, Order, Ranking, TopByEvent, TopByKey
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.plan.top_by_event import first_found
from vedette.store.plan.top_by_key import first_places
from vedette.store.read.process_events import BY_KEY
from vedette.store.sql.column_lists import ROW, SORTABLE, merged, quoted
from vedette.store.sql.from_clause import grouped
from vedette.store.sql.from_clause import merged as merged_source
from vedette.store.sql.scope_filter import AT_PLACES, PLACE, PLACES, Place, scoped

NEWEST_FIRST: Order = (("last_update", True),)


@dataclass(frozen=True, slots=True)
class Found:
    """`total` is the number of matching segments; `rows` is the requested page, by column name
    (`columns.KEY`, `columns.METADATA` without search-only columns, and the counts)."""

    total: int
    rows: list[dict[str, Any]]


def search_segments(
    engine: Engine,
    where: Condition,
    scope: Scope,
    order: Order = NEWEST_FIRST,
    *,
    start: int = 0,
    rows: int = ROWS_DEFAULT,
    reach: Reach = EVERYWHERE,
    ranking: Ranking | None = None,
) -> Found:
    """Returns the exact number of segments that a condition selects, and `rows` of them from
    `start` on. `ranking` comes from the search's plan; None: chosen here.

    Raises BadRequestError for a column that cannot be ordered by, UnavailableError (`reason`
    "deadline") when it takes longer than `reach` allows.
    """
    ordering_sql(order)  # raises even when nothing matches
    where = scoped(where, scope)
    ranking = ranking or choose_ranking(where, order, rows)
    found = _ranked(engine, where, ranking, order, start, rows, reach)
    if found is not None:
        return found
    total, keys = _page(engine, where, order, start, rows, reach)
    return Found(total, segment_rows(engine, keys))


def _ranked(
    engine: Engine,
    where: Condition,
    ranking: Ranking,
    order: Order,
    start: int,
    rows: int,
    reach: Reach,
) -> Found | None:
    """Returns the page from unmerged partial rows; None if too many rows would be read."""
    match ranking:
        case CountOnly():
            return Found(_count(engine, where, reach), [])
        case TopByKey():
            ordering = ordering_sql(order)
            by_key = first_places(engine, where, ordering, start, rows, reach)
            if by_key is None:
                return None
            counting, keys = by_key
            page = segment_rows(engine, keys)  # runs while segments are counted
            return Found(counting.result(), page)
        case TopByEvent():
            by_event = first_found(engine, where, order[0][0], start, rows, reach)
            if by_event is None:
                return None
            total, found_keys = by_event
            return Found(total, segment_rows(engine, found_keys))
        case MergedSort():
            return None
        case _:
            assert_never(ranking)


def count_segments(
    engine: Engine, where: Condition, scope: Scope, *, reach: Reach = EVERYWHERE
) -> int:
    """Returns the exact number of segments that a condition selects."""
    return _count(engine, scoped(where, scope), reach)


def segment_rows(engine: Engine, keys: Sequence[Place]) -> list[dict[str, Any]]:
    """Returns metadata and counts of segments by `PLACE`, in the order of `keys`."""
    if not keys:
        return []
    # Merging a few partial rows here takes a fraction of the time of FINAL.
    found = engine.query(
        f"SELECT key_hash, {ROW} FROM segment PREWHERE {AT_PLACES}",
        {PLACES: list(keys)},
        settings=BY_KEY,
    ).dicts()
    by_place: dict[Place, list[dict[str, Any]]] = {}
    for row in found:
        by_place.setdefault(_key(row), []).append(row)
    return [merged(by_place[key]) for key in keys if key in by_place]


def _key(row: dict[str, Any]) -> Place:
    return row["window_ms"], row["sensor_id"], row.pop("key_hash")


def _count(engine: Engine, where: Condition, reach: Reach) -> int:
    sql = f"SELECT count() FROM {_source(where)}"
    total: int = reach.ask(engine, sql, where.params, indexes=where.indexes).rows[0][0]
    return total


def _source(where: Condition, columns: Sequence[str] = ()) -> str:
    return grouped(where, columns) if can_group_rows(where) else merged_source(where)


def _page(
    engine: Engine, where: Condition, order: Order, start: int, rows: int, reach: Reach
) -> tuple[int, list[Place]]:
    """Returns total and places of a page; metadata is then read only for the page."""
    ordering = ordering_sql(order)
    source = _source(where, [column for column, _ in order])
    page = reach.ask_page(
        engine,
        f"SELECT {PLACE} FROM {source} ORDER BY {ordering} LIMIT {rows:d} OFFSET {start:d}",
        where.params,
        indexes=where.indexes,
    )
    return page.total, [(row[0], row[1], row[2]) for row in page.rows]


_UNKNOWN: Final = {
    "start": "toUnixTimestamp64Micro(`start`) <= 0",
    "process_pid": "`process_pid` = 0",
    "parent_pid": "`parent_pid` = 0",
}
"""Columns whose 0 means unknown, with the test for it. Such rows come last in either direction."""


def ordering_sql(order: Order) -> str:
    """Returns the ORDER BY terms. Raises BadRequestError for a column not in `SORTABLE`."""
    terms = []
    for column, descends in order:
        if column not in SORTABLE:
            raise BadRequestError(f"cannot sort results by {column!r}")
        if column in _UNKNOWN and not descends:
            terms.append(_UNKNOWN[column])
        terms.append(f"{quoted(column)} {'DESC' if descends else 'ASC'}")
    # The key as tie-breaker keeps the order stable across pages.
    return ", ".join([*terms, "window_ms DESC", "key_hash"])
