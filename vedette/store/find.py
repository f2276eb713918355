"""Searching segments: how many match, and the metadata of one page of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.model.scope import Scope
from vedette.query.condition import Condition
from vedette.query.document import SEGMENT
from vedette.store.engine import Engine
from vedette.store.newest import first_places, leads
from vedette.store.reach import EVERYWHERE, Reach
from vedette.store.select import MERGES, ROW, SORTABLE, merged, quoted
from vedette.store.sequence import BY_KEY
from vedette.store.where import AT_PLACES, PLACE, PLACES, Place, scoped

Order = Sequence[tuple[str, bool]]
"""Columns to order by, each with whether it descends."""

_PLACED: Final = frozenset({"window_ms", "sensor_id"})
"""Columns of a `Place`."""

NEWEST_FIRST: Order = (("last_update", True),)


@dataclass(frozen=True, slots=True)
class Found:
    """`total` segments match; `rows` is the page asked for, by column name
    (`columns.KEY`, `columns.METADATA` without what is only searched for, and the counts)."""

    total: int
    rows: list[dict[str, Any]]


def search_segments(
    engine: Engine,
    where: Condition,
    scope: Scope,
    order: Order = NEWEST_FIRST,
    *,
    start: int = 0,
    rows: int = 10,
    reach: Reach = EVERYWHERE,
) -> Found:
    """The segments a condition selects: an exact total, and `rows` of them from `start` on.

    Raises BadRequestError for a column that cannot be ordered by, UnavailableError (`reason`
    "deadline") when it takes longer than `reach` allows.
    """
    ordering_sql(order)  # refuses what cannot be ordered by, whatever is found
    where = scoped(where, scope)
    if not rows:
        return Found(_count(engine, where, reach), [])
    if leads(where, order):
        led = first_places(engine, where, ordering_sql(order), start, rows, reach)
        if led is not None:
            counting, keys = led
            page = segment_rows(engine, keys)  # while they are counted
            return Found(counting.result(), page)
    total, keys = _page(engine, where, order, start, rows, reach)
    return Found(total, segment_rows(engine, keys))


def count_segments(
    engine: Engine, where: Condition, scope: Scope, *, reach: Reach = EVERYWHERE
) -> int:
    """How many segments a condition selects, exactly."""
    return _count(engine, scoped(where, scope), reach)


def segment_rows(engine: Engine, keys: Sequence[Place]) -> list[dict[str, Any]]:
    """Metadata and counts of segments named by `PLACE`, in the order of the keys."""
    if not keys:
        return []
    # A few partial rows are merged here in a fraction of the time that FINAL takes.
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
    sql = f"SELECT count() FROM {_selected(where)}"
    total: int = reach.ask(engine, sql, where.params).rows[0][0]
    return total


def _page(
    engine: Engine, where: Condition, order: Order, start: int, rows: int, reach: Reach
) -> tuple[int, list[Place]]:
    """Total and keys of a page; metadata is read for the page alone."""
    ordering = ordering_sql(order)
    selected = _selected(where, [column for column, _ in order])
    page = reach.ask(
        engine,
        f"SELECT {PLACE}, count() OVER () FROM {selected} "
        f"ORDER BY {ordering} LIMIT {rows:d} OFFSET {start:d}",
        where.params,
    ).rows
    keys = [(row[0], row[1], row[2]) for row in page]
    if page or not start:
        return (page[0][3] if page else 0), keys
    # A page beyond the end tells nothing of the total.
    return _count(engine, where, reach), keys


def _selected(where: Condition, columns: Iterable[str] = ()) -> str:
    """What follows FROM: the segments that a condition selects, with these columns. The rows of few
    segments are grouped, which costs half of what merging them in the order of keys does."""
    if not where.before or where.merged is None or not MERGES.keys() >= where.merged:
        return f"segment FINAL {where.clause}"
    wanted = sorted({*where.merged, *where.keys, *columns} - _PLACED)
    found = "".join(f", {MERGES[one]}({quoted(one)}) AS {quoted(one)}" for one in wanted)
    return (
        f"(SELECT {SEGMENT.key}, any(sensor_id) AS sensor_id{found} FROM segment "
        f"WHERE {where.before} GROUP BY {SEGMENT.key}) "
        f"WHERE {where.sql}"
    )


def ordering_sql(order: Order) -> str:
    """What follows ORDER BY. Raises BadRequestError for a column that is none of `SORTABLE`."""
    terms = []
    for column, descends in order:
        if column not in SORTABLE:
            raise BadRequestError(f"results cannot be sorted by {column!r}")
        terms.append(f"{quoted(column)} {'DESC' if descends else 'ASC'}")
    # The key makes equal rows keep their places from page to page.
    return ", ".join([*terms, "window_ms DESC", "key_hash"])
