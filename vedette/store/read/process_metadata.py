"""Metadata and counts of one process: of a segment, and of the whole process.

Every segment has all metadata of its process, so the metadata is read from the newest one; sums
over segments are read from the projection by process (`segment_counts.py`).
"""

from collections.abc import Callable, Collection, Hashable
from operator import itemgetter
from typing import Any, Final, TypeVar

from vedette import limits
from vedette.model.scope import Scope
from vedette.store.engine.client import Engine
from vedette.store.read.process_events import BY_KEY
from vedette.store.read.segment_counts import of_process, row_size, sees
from vedette.store.sql.column_lists import COUNTS, KNOWN, quoted, row_with

_NEWEST_WINDOW: Final = (
    "(SELECT arrayMax(arrayPushFront(groupArrayArray(windows), 0)) "
    "FROM process WHERE process_id = {process:String})"
)
"""Newest window from the `process` table; 0 for an unknown process. The subquery is evaluated
before `segment` is read, so that its key prunes."""

R = TypeVar("R", dict[str, Any], dict[str, Any] | None)

_OWN_NAMES = {"prefer_column_name_to_alias": 1}
"""Lets an aggregate have the name of its column."""


def segment_row(
    engine: Engine,
    process_id: str,
    segment_id: int,
    scope: Scope,
    names: Collection[str] = KNOWN,
    counts: Collection[str] = COUNTS,
) -> dict[str, Any] | None:
    """Returns columns `names` and `counts` of one segment, with its update times. Cached: every
    page of the segment's events shows them."""
    question = ("segment", segment_id, tuple(names), tuple(counts))
    found = _cached(
        engine,
        process_id,
        scope,
        question,
        lambda: _segment_row(engine, process_id, segment_id, scope, names, counts),
    )
    return found and dict(found)


def _segment_row(
    engine: Engine,
    process_id: str,
    segment_id: int,
    scope: Scope,
    names: Collection[str],
    counts: Collection[str],
) -> dict[str, Any] | None:
    """Reads one segment. Its window starts less than `SEGMENT_IDS_A_WINDOW` before its id
    (`model/columns.py`)."""
    where = of_process(process_id, scope)
    counted = "".join(f", {quoted(name)}" for name in counts)
    found = engine.query(
        f"SELECT {row_with((*names, 'last_update', 'last_server_update'))}{counted} "
        "FROM segment FINAL WHERE window_ms BETWEEN {first:UInt64} AND {segment_id:UInt64} "
        f"AND {where.sql} AND segment_id = {{segment_id:UInt64}}",
        {
            **where.params,
            "first": max(0, segment_id - limits.SEGMENT_IDS_A_WINDOW + 1),
            "segment_id": segment_id,
        },
        settings=BY_KEY,
    ).dicts()
    return found[0] if found else None


def process_row(
    engine: Engine,
    process_id: str,
    scope: Scope,
    names: Collection[str] = KNOWN,
    counts: Collection[str] = COUNTS,
) -> dict[str, Any] | None:
    """Returns one process as a whole, in the form of `process_rows`, with columns `names` and
    `counts`; None if the scope has no such process.

    Metadata of the newest segment and sums from the projection are read concurrently.
    """
    summing = engine.query_pool.submit(_summed, engine, process_id, scope, counts)
    question = ("newest", tuple(names))
    newest = _cached(
        engine, process_id, scope, question, lambda: _newest(engine, process_id, scope, names)
    )
    summed = summing.result()
    if not summed["segment_id"] or newest is None:
        return None
    if newest["segment_id"] < summed["segment_id"]:
        newest = segment_row(engine, process_id, summed["segment_id"], scope, names, ())
    return newest and newest | summed


def _summed(
    engine: Engine, process_id: str, scope: Scope, counts: Collection[str] = ()
) -> dict[str, Any]:
    """Returns aggregates over all segments; `segment_id` is 0 if there are none."""
    question = ("summed", tuple(counts))
    return _cached(
        engine, process_id, scope, question, lambda: _sum_up(engine, process_id, scope, counts)
    )


def _sum_up(
    engine: Engine, process_id: str, scope: Scope, counts: Collection[str]
) -> dict[str, Any]:
    where = of_process(process_id, scope)
    sums = "".join(f", sum({quoted(name)}) AS {quoted(name)}" for name in counts)
    return engine.query(
        "SELECT max(segment_id) AS `segment_id`, max(partition_ms) AS `partition_ms`, "
        "max(last_update) AS `last_update`, max(last_server_update) AS `last_server_update`, "
        "min(first_server_update) AS `first_server_update`, max(terminated) AS `terminated` "
        f"{sums} FROM {engine.capabilities.by_process} WHERE {where.sql}",
        where.params,
        settings=_OWN_NAMES,
    ).dicts()[0]


def newest_row(
    engine: Engine, process_id: str, scope: Scope, names: Collection[str] = KNOWN
) -> dict[str, Any] | None:
    """Returns columns `names` of the newest segment of a process; None if the scope has none. For
    an unknown process only the `process` table is read. Cached: every summary reads its parent."""
    return _cached(
        engine,
        process_id,
        scope,
        ("newest", tuple(names)),
        lambda: _newest_of_known(engine, process_id, scope, names),
    )


def _cached(
    engine: Engine,
    process_id: str,
    scope: Scope,
    question: tuple[Hashable, ...],
    ask: Callable[[], R],
) -> R:
    """Returns the result of `ask`, cached until a write to the process."""
    return engine.process_cache.get_or_load(
        process_id, (sees(scope, process_id), *question), ask, row_size
    )


def _newest_of_known(
    engine: Engine, process_id: str, scope: Scope, names: Collection[str]
) -> dict[str, Any] | None:
    found = engine.query(f"SELECT {_NEWEST_WINDOW}", {"process": process_id})
    window_ms = found.rows[0][0]
    return _newest(engine, process_id, scope, names, f"{window_ms:d}") if window_ms else None


def _newest(
    engine: Engine,
    process_id: str,
    scope: Scope,
    names: Collection[str],
    window_ms: str = _NEWEST_WINDOW,
) -> dict[str, Any] | None:
    """Returns the newest segment in a window; of the whole process if the window has none."""
    where = of_process(process_id, scope)
    found = engine.query(
        f"SELECT {row_with(names)} FROM segment FINAL "
        f"WHERE window_ms = {window_ms} AND {where.sql}",
        where.params,
        settings=BY_KEY,
    ).dicts()
    if found:
        # Sorting one or two rows costs nothing here, but a millisecond in the engine.
        return max(found, key=itemgetter("segment_id"))
    # `process` is written first: after a crash it may name a window that has no segment.
    segment_id = _summed(engine, process_id, scope)["segment_id"]
    return segment_row(engine, process_id, segment_id, scope, names, ()) if segment_id else None
