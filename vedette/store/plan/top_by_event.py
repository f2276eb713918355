"""Runs `TopByEvent`: count and first page of the segments that events select, without merging.

An event is in one partial row, so the rows with a matching event identify all matching segments. A
segment's time is that of its latest row, which may be another row; but few rows of the store are
later than the last segment of the first page. Those are read for all segments and joined here with
the matches. Reading all rows of the matches would be half the cost of a search with 100,000
matches.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from vedette import limits
from vedette.limits import Limit
from vedette.query.compile.condition import NO_INDEXES, Apart, Condition
from vedette.store.engine.client import Engine, Params
from vedette.store.plan.choose import can_group_rows
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.column_lists import quoted
from vedette.store.sql.from_clause import grouped, merged
from vedette.store.sql.scope_filter import PLACE, Place

TOP_BY_EVENT_LATER_ROWS_MAX: Limit[int] = 50_000
"""Rows later than the last row of a page. A search that matches only old segments has more, and
falls back to `MergedSort`."""

TOP_BY_EVENT_SEGMENTS_MAX: Limit[int] = 200
"""Number of segments up to which rows are read by key instead of by time."""


_KEYS: Final = pa.schema([("key_hash", pa.uint64()), ("at", pa.int64())])
"""A segment, and its time in epoch microseconds."""

_PLACES: Final = pa.schema([("window_ms", pa.uint64()), ("sensor_id", pa.uint32()), *_KEYS])

_ORDER: Final = [("at", "descending"), ("window_ms", "descending"), ("key_hash", "ascending")]


def first_found(
    engine: Engine, where: Condition, column: str, start: int, rows: int, reach: Reach
) -> tuple[int, list[Place]] | None:
    """Returns (number of segments that a condition selects, places of `rows` of them from `start`
    on, ordered by the latest `column`); None if they have too many rows. `choose.can_rank_by_event`
    must hold for the condition. Raises UnavailableError."""
    found = _found(engine, where.apart, where.params, column, reach) if where.apart else None
    if found is None:
        return None
    later = _later(engine, found, column, start + rows, reach)
    if later is None:
        return None
    first = _first(_grouped(later, _PLACES), start + rows, _ORDER)
    page = (first[name].to_pylist()[start:] for name in _PLACES.names[:3])
    return found.num_rows, list(zip(*page, strict=True))


def _found(
    engine: Engine, apart: Apart, params: Params, column: str, reach: Reach
) -> pa.Table | None:
    """Returns matching segments, each with the latest time of its matching rows; None above the
    limit."""
    row = f"key_hash, {_at(column)} AS at"
    selects = [f"SELECT {row} FROM segment WHERE {one}" for one in apart.rows]
    statements: list[tuple[str, frozenset[str] | None]] = [
        (" UNION ALL ".join(selects), apart.indexes)
    ]
    if apart.others is not None:
        others = f"SELECT {row} FROM {_source(apart.others, column)}"
        statements.append((others, apart.others.indexes))
    most = limits.FEW_ROWS_MAX
    asking = [
        engine.query_pool.submit(
            reach.ask_table,
            engine,
            f"SELECT * FROM ({sql}) LIMIT {most + 1:d}",
            _KEYS,
            params,
            indexes,
        )
        for sql, indexes in statements
    ]
    tables = [one.result() for one in asking]
    if max(table.num_rows for table in tables) > most:
        return None
    return _grouped(pa.concat_tables(tables), _KEYS)


def _source(where: Condition, column: str) -> str:
    return grouped(where, [column]) if can_group_rows(where) else merged(where)


def _later(
    engine: Engine, found: pa.Table, column: str, count: int, reach: Reach
) -> pa.Table | None:
    """Returns all rows of the matches that are at least as late as the first `count` segments; None
    if more than `TOP_BY_EVENT_LATER_ROWS_MAX` rows would have to be read."""
    if found.num_rows <= max(TOP_BY_EVENT_SEGMENTS_MAX, count):
        which = "key_hash IN {keys:Array(UInt64)}"
        params: Params = {"keys": found["key_hash"].to_pylist()}
    else:
        which = f"{_at(column)} >= {{least:Int64}}"
        params = {"least": pc.min(_first(found, count, [("at", "descending")])["at"]).as_py()}
    sql = f"SELECT {PLACE}, {_at(column)} AS at FROM segment PREWHERE {which}"
    later = reach.ask_table(
        engine, f"{sql} LIMIT {TOP_BY_EVENT_LATER_ROWS_MAX + 1:d}", _PLACES, params, NO_INDEXES
    )
    if later.num_rows > TOP_BY_EVENT_LATER_ROWS_MAX:
        return None
    return later.filter(pc.is_in(later["key_hash"], value_set=_shared(found, later)))


def _shared(found: pa.Table, later: pa.Table) -> pa.ChunkedArray:
    """Returns the keys of matches that occur in the later rows: about a hundred of 100,000.
    Building a set of all keys would take a fifth of such a search."""
    keys = found["key_hash"]
    if later.num_rows > found.num_rows:
        return keys
    return keys.filter(pc.is_in(keys, value_set=later["key_hash"]))


def _at(column: str) -> str:
    return f"toUnixTimestamp64Micro({quoted(column)})"


def _grouped(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Returns one row per segment, with its latest time."""
    *key, _at = schema.names
    grouped = rows.group_by(key, use_threads=False).aggregate([("at", "max")])
    return grouped.rename_columns(schema.names)


def _first(found: pa.Table, count: int, order: Sequence[tuple[str, str]]) -> pa.Table:
    return found.take(pc.select_k_unstable(found, min(count, found.num_rows), order))
