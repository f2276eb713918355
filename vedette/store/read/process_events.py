"""The events of one process as one sequence: counts per segment, and slices.

Ordered by segment, time, kind, then as stored (docs/process-analysis.md). Counts need no FINAL,
since an event is in exactly one partial row; counts of all events come from the projection
(`segment_counts.py`). Events are read by primary key, and only from the named segments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from vedette.model.columns import EventKind
from vedette.model.event import ProcessEvent
from vedette.model.event_facets import STREAMED, EventFilter
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS
from vedette.query.compile.events_sql import KindTest, compile_events
from vedette.store.engine.client import Engine, Settings
from vedette.store.read.segment_counts import SegmentCounts, of_process
from vedette.store.sql.column_lists import readable_array

BY_KEY: Final[Settings] = {
    **SETTINGS,
    "use_skip_indexes": 0,
    "optimize_use_projections": 0,
    "optimize_use_implicit_projections": 0,
    # The next page reads neighboring rows, which are in the same blocks.
    "use_uncompressed_cache": 1,
}
"""Settings for reads by primary key: no skip indexes or projections are analyzed, which is a third
of a small query's time on a table with so many columns and indexes."""


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """An event with its position in the sequence."""

    segment_id: int
    kind: EventKind
    event: ProcessEvent


def count_wanted(
    engine: Engine,
    process_id: str,
    scope: Scope,
    wanted: EventFilter,
    windows: Sequence[int] | None,
) -> dict[int, int]:
    """Maps segment id to the number of its events that pass a filter, for the segments in `windows`
    (None: all)."""
    tests, params = compile_events(wanted)
    if not tests:
        return {}
    where = of_process(process_id, scope, windows)
    counted = " + ".join(f"sum({test.count_sql})" for test in tests)
    found = engine.query(
        f"SELECT segment_id, {counted} FROM segment WHERE {where.sql} GROUP BY segment_id",
        {**params, **where.params},
    )
    return dict(found.rows)


def names_child(
    engine: Engine,
    process_id: str,
    scope: Scope,
    child_id: str,
    child_md5: str,
    *,
    deadline_s: float,
) -> bool:
    """Whether a process has a childproc event with this child, and with this MD5 if given.

    Raises UnavailableError (`reason` "deadline") when it takes longer than `deadline_s`.
    """
    where = of_process(process_id, scope)
    found = engine.query(
        "SELECT max(arrayExists((id, digest) -> id = {child:String} AND "
        "({md5:String} = '' OR digest = {md5:String}), childproc_child_id, childproc_md5)) "
        f"FROM segment WHERE {where.sql}",
        {**where.params, "child": child_id, "md5": child_md5},
        deadline_s=deadline_s,
    )
    return bool(found.rows[0][0])


def read_wanted(
    engine: Engine,
    process_id: str,
    scope: Scope,
    wanted: EventFilter,
    segments: SegmentCounts,
    numbers: Sequence[int],
    start: int,
    count: int,
) -> list[SequencedEvent]:
    """Returns `count` events that pass a filter from offset `start`, of the segments with these
    indexes. Kinds that the segments lack are not read."""
    tests, params = compile_events(wanted)
    present = segments.kinds_in(numbers)
    tests = [test for test in tests if test.kind in present]
    places = [(segments.window_ms[number], segments.segment_ids[number]) for number in numbers]
    if not (tests and places and count):
        return []
    found: list[SequencedEvent] = []
    for segment_id, row in _arrays(engine, process_id, scope, tests, params, places):
        ordered = _order(tests, row)
        chosen = ordered[start : start + count - len(found)]
        start = max(0, start - len(ordered))
        for _, rank, at in chosen:
            kind = tests[rank].kind
            event = kind.struct(process_id, *(array[at] for array in row[rank]))
            found.append(SequencedEvent(segment_id, kind, event))
    return found


def offset_under(
    engine: Engine,
    process_id: str,
    scope: Scope,
    place: tuple[int, int],
    before: tuple[EventFilter, int],
    after: EventFilter,
) -> int:
    """Translates an offset within a segment from one filter to another: returns the number of
    events of `after` before the event at offset `before[1]` of `before[0]`."""
    old, offset = before
    head = _keys(engine, process_id, scope, old, place)[offset : offset + 1]
    keys = _keys(engine, process_id, scope, after, place)
    return sum(key < head[0] for key in keys) if head else len(keys)


_Row = list[tuple[Sequence[Any], ...]]
"""The arrays of one segment, by test and by field of its kind."""
_Key = tuple[int, int, int]
"""Sort key of events within a segment: time, rank of the kind, array index."""


def _keys(
    engine: Engine,
    process_id: str,
    scope: Scope,
    wanted: EventFilter,
    place: tuple[int, int],
) -> list[_Key]:
    """Returns the sort keys of a segment's events that pass a filter, with the ranks and indexes of
    the unfiltered events."""
    tests, params = compile_events(wanted)
    if not tests:
        return []
    where = of_process(process_id, scope, [place[0]])
    kept = ", ".join(
        f"arrayFilter((k, m) -> m, arrayMap((t, n) -> (toUnixTimestamp64Micro(t), n), "
        f"{(times := f'`{test.kind.name}_time`')}, arrayEnumerate({times})), "
        f"{test.mask_sql or f'arrayMap(t -> 1, {times})'})"
        for test in tests
    )
    found = engine.query(
        f"SELECT {kept} FROM segment FINAL WHERE {where.sql} AND segment_id = {{place:UInt64}}",
        {**params, **where.params, "place": place[1]},
        settings=BY_KEY,
    )
    ranks = [STREAMED.index(test.kind) for test in tests]
    return sorted(
        (time_us, rank, at)
        for row in found.rows
        for rank, keys in zip(ranks, row, strict=True)
        for time_us, at in keys
    )


def _arrays(
    engine: Engine,
    process_id: str,
    scope: Scope,
    tests: Sequence[KindTest],
    params: dict[str, Any],
    places: Sequence[tuple[int, int]],
) -> Iterator[tuple[int, _Row]]:
    where = of_process(process_id, scope, sorted({window for window, _ in places}))
    ids = {"segments": [segment_id for _, segment_id in places]}
    masks = [f"{t.mask_sql} AS `{t.kind.name}_mask`" for t in tests if t.mask_sql]
    found = engine.query(
        f"{'WITH ' + ', '.join(masks) if masks else ''} "
        f"SELECT segment_id, {', '.join(_kept(test) for test in tests)} "
        f"FROM segment FINAL WHERE {where.sql} AND segment_id IN {{segments:Array(UInt64)}}",
        {**params, **where.params, **ids},
        settings=BY_KEY,
    )
    for segment_id, *columns in sorted(found.rows, key=itemgetter(0)):
        rest = iter(columns)
        yield segment_id, [tuple(next(rest) for _ in test.kind.fields) for test in tests]


def _kept(test: KindTest) -> str:
    """Returns SQL for the columns of a kind, reduced to the elements that pass the filter."""
    arrays = [readable_array(column.name, column.type) for column in test.kind.columns]
    if test.mask_sql:
        mask = f"`{test.kind.name}_mask`"
        arrays = [f"arrayFilter((v, m) -> m, {array}, {mask})" for array in arrays]
    return ", ".join(arrays)


def _order(tests: Sequence[KindTest], row: _Row) -> list[_Key]:
    ordered = [
        (time_us, rank, at) for rank in range(len(tests)) for at, time_us in enumerate(row[rank][0])
    ]
    ordered.sort()
    return ordered
