"""The events of one process as one sequence: how many each segment holds, and any part of it.

The order is by segment, then by time, then by kind, then as stored (docs/process-analysis.md).
Counts are asked without FINAL, because every event lies in exactly one partial row; those of all
events come from the outline of the process (`tables.OUTLINE`), so their cost does not depend on
what else is stored. Events are read by primary key, and only the segments that are named.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.model.columns import EventKind
from vedette.model.event import ProcessEvent
from vedette.model.event_facets import STREAMED, EventFilter
from vedette.model.ids import sensor_of
from vedette.model.scope import Scope
from vedette.query.compile_events import KindTest, compile_events
from vedette.query.compile_sql import SETTINGS, Condition
from vedette.store.engine import Engine, Settings
from vedette.store.select import readable_array
from vedette.store.where import scoped

BY_OUTLINE: Final[Settings] = {"use_skip_indexes": 0, "optimize_use_implicit_projections": 0}
"""For questions that the outline answers."""

BY_KEY: Final[Settings] = {**SETTINGS, **BY_OUTLINE, "optimize_use_projections": 0}
"""For reads by primary key. Where it is known how rows are found, nothing else has to be weighed:
on a table with so many columns and indexes, that is a third of what a small question costs."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The segments of a process, the earliest first, in lists of the same length."""

    window_ms: Sequence[int]
    segment_ids: Sequence[int]
    totals: Sequence[int]
    """Events of all `STREAMED` kinds."""
    chosen: Sequence[int]
    """Events of the kinds that were asked for."""
    kinds: Sequence[int]
    """Kinds that there are events of: a bit for each of `STREAMED`, the first one's is 1."""
    is_terminated: bool

    def kinds_in(self, numbers: Sequence[int]) -> list[EventKind]:
        """Kinds that the segments with these numbers have events of."""
        met = 0
        for number in numbers:
            met |= self.kinds[number]
        return [kind for bit, kind in enumerate(STREAMED) if met >> bit & 1]


@dataclass(frozen=True, slots=True)
class SequencedEvent:
    """An event of the sequence with its place."""

    segment_id: int
    kind: EventKind
    event: ProcessEvent


def outline(
    engine: Engine,
    process_id: str,
    scope: Scope,
    kinds: Sequence[EventKind] = STREAMED,
    *,
    deadline_s: float | None = None,
) -> Outline | None:
    """Segments and counts of a process; None when there is none to see.

    Raises UnavailableError (`reason` "deadline") when it takes longer than `deadline_s`.
    """
    where = of_process(process_id, scope)
    bits = " + ".join(
        f"(sum(`{kind.name}_count`) > 0) * {1 << bit}" for bit, kind in enumerate(STREAMED)
    )
    found = engine.query(
        "SELECT groupArray(window_ms), groupArray(segment_id), groupArray(total), "
        "groupArray(chosen), groupArray(kinds), max(ended) FROM ("
        f"SELECT window_ms, segment_id, {_sum(STREAMED)} AS total, {_sum(kinds)} AS chosen, "
        f"{bits} AS kinds, max(terminated) AS ended FROM segment WHERE {where.sql} "
        "GROUP BY window_ms, segment_id ORDER BY segment_id)",
        where.params,
        settings=BY_OUTLINE,
        deadline_s=deadline_s,
    )
    windows, segment_ids, totals, chosen, met, terminated = found.rows[0]
    if not segment_ids:
        return None
    return Outline(windows, segment_ids, totals, chosen, met, bool(terminated))


def count_wanted(
    engine: Engine,
    process_id: str,
    scope: Scope,
    wanted: EventFilter,
    windows: Sequence[int] | None,
) -> dict[int, int]:
    """By segment id, how many events of a filter the segments of these windows, or of all of
    them, hold."""
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
    """Whether a process has an event of a child, with this MD5 where one is given.

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
    told: Outline,
    numbers: Sequence[int],
    start: int,
    count: int,
) -> list[SequencedEvent]:
    """`count` events of a filter from the `start`th on, of some segments of an outline, given by
    their numbers. Kinds that these do not have cost nothing."""
    tests, params = compile_events(wanted)
    present = told.kinds_in(numbers)
    tests = [test for test in tests if test.kind in present]
    places = [(told.window_ms[number], told.segment_ids[number]) for number in numbers]
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
    """An offset in one segment under the filter `before[0]` as an offset under another: how many
    events of `after` stand before the one at `before[1]`."""
    old, offset = before
    head = _keys(engine, process_id, scope, old, place)[offset : offset + 1]
    keys = _keys(engine, process_id, scope, after, place)
    return sum(key < head[0] for key in keys) if head else len(keys)


_Row = list[tuple[Sequence[Any], ...]]
"""The arrays of one segment, by test and by field of its kind."""
_Key = tuple[int, int, int]
"""What the events of a segment are ordered by: time, rank of the kind, place in its arrays."""


def _keys(
    engine: Engine,
    process_id: str,
    scope: Scope,
    wanted: EventFilter,
    place: tuple[int, int],
) -> list[_Key]:
    """The keys of a segment's events under a filter; ranks and places as without one."""
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
        f"FROM segment FINAL WHERE {where.sql} AND segment_id IN {{segments:Array(UInt64)}} "
        "ORDER BY segment_id",
        {**params, **where.params, **ids},
        settings=BY_KEY,
    )
    for segment_id, *columns in found.rows:
        rest = iter(columns)
        yield segment_id, [tuple(next(rest) for _ in test.kind.fields) for test in tests]


def _kept(test: KindTest) -> str:
    """The columns of a kind, without the elements that are not wanted."""
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


def of_process(process_id: str, scope: Scope, windows: Sequence[int] | None = None) -> Condition:
    """The condition on partial rows of one process, by primary key where windows are given."""
    sql = "process_id = {process:String} AND sensor_id = {sensor:UInt32}"
    params: dict[str, Any] = {"process": process_id, "sensor": sensor_of(process_id) or 0}
    if windows is not None:
        sql = f"window_ms IN {{windows:Array(UInt64)}} AND {sql}"
        params["windows"] = list(windows)
    return scoped(Condition(sql, params), scope)


def _sum(kinds: Sequence[EventKind]) -> str:
    return " + ".join(f"sum(`{kind.name}_count`)" for kind in kinds) or "toUInt64(0)"
