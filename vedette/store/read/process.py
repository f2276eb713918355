"""Reads processes: segments, merged metadata, events, relatives.

Segments and counts come from the projection `BY_PROCESS`, the windows of several processes from the
table `process`; everything else is then read by primary key. Events are ordered by segment, then by
time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Final

from msgspec import Struct

from vedette.limits import Limit
from vedette.model.columns import EVENT_KINDS, EventKind
from vedette.model.event import ProcessEvent
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine, Rows
from vedette.store.read.process_events import BY_KEY
from vedette.store.read.segment_counts import of_process, row_size, sees
from vedette.store.sql.column_lists import BEST, COUNTS, aggregated, quoted, readable_array
from vedette.store.sql.scope_filter import (
    AT_PROCESSES,
    found_by_sensor,
    scoped,
    windows_of,
    with_sensors,
)

RELATIVES_MAX: Limit[int] = 1_000
"""Children or siblings per query."""


_LAST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SegmentSummary:
    """One segment of a process (docs/api-objects.md#segment-list); times in epoch microseconds."""

    partition_ms: int
    window_ms: int
    segment_id: int
    last_update: int
    last_server_update: int
    counts: dict[str, int]
    """Event counts by kind name, including kinds that are not streamed."""


class Events(Struct):
    """Events by kind name, each list in order."""

    total: int
    """Number of all events of the requested kinds and segments; `by_kind` is a slice of them."""
    by_kind: dict[str, list[ProcessEvent]]


def segments_of(
    engine: Engine, process_id: str, scope: Scope, *, first: int = 0, last: int = _LAST
) -> list[SegmentSummary]:
    """Returns the segments of a process with ids from `first` to `last`, earliest first; [] if
    there are none in the scope."""
    where = of_process(process_id, scope)
    found = engine.query(
        "SELECT partition_ms, window_ms, segment_id, max(last_update) AS updated, "
        f"max(last_server_update) AS served, {', '.join(f'sum({quoted(n)})' for n in COUNTS)} "
        f"FROM {engine.capabilities.by_process} WHERE {where.sql} "
        "AND segment_id BETWEEN {first:UInt64} AND {last:UInt64} "
        "GROUP BY partition_ms, window_ms, segment_id ORDER BY segment_id",
        {**where.params, "first": first, "last": last},
    )
    kinds = [kind.name for kind in EVENT_KINDS]
    return [
        SegmentSummary(
            row[0], row[1], row[2], row[3], row[4], dict(zip(kinds, row[5:], strict=True))
        )
        for row in found.rows
    ]


def process_rows(
    engine: Engine, process_ids: Sequence[str], scope: Scope
) -> dict[str, dict[str, Any]]:
    """Maps process id to the process, merged over all its segments: metadata and summed counts.

    Rows are like those of `segment_search.Found`; `segment_id` is the latest segment's id, and
    `first_segment_id` the earliest's.
    """
    process_ids = found_by_sensor(engine.capabilities, process_ids, scope)
    if not process_ids:
        return {}
    by_process = windows_of(engine.capabilities, "process_id IN {ids:Array(String)}", AT_PROCESSES)
    where = scoped(Condition(by_process, with_sensors(process_ids)), scope)
    found = engine.query(
        "SELECT process_id, any(sensor_id) AS of_sensor, max(segment_id) AS last_segment, "
        "min(segment_id) AS first_segment_id, max(window_ms) AS last_window, "
        f"max(partition_ms) AS last_partition, {BEST} "
        f"FROM segment WHERE {where.sql} GROUP BY process_id",
        where.params,
        settings=engine.capabilities.process_group_settings,
    )
    return {row["process_id"]: row for row in map(_renamed, found.dicts())}


_WHOLE_NAMES = {
    "of_sensor": "sensor_id",
    "last_segment": "segment_id",
    "last_window": "window_ms",
    "last_partition": "partition_ms",
}


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {
        _WHOLE_NAMES.get(name, name.removeprefix("best_")): value for name, value in row.items()
    }


def events(
    engine: Engine,
    process_id: str,
    scope: Scope,
    *,
    segment_id: int | None = None,
    kinds: Sequence[EventKind] = EVENT_KINDS,
    start: int = 0,
    count: int,
) -> Events:
    """Returns `count` events of a process from offset `start`, of one segment or of all (None).
    Reads only the segments with these events."""
    begin, total, wanted = 0, 0, []
    for summary in segments_of(engine, process_id, scope):
        if segment_id is not None and summary.segment_id != segment_id:
            continue
        size = sum(summary.counts[kind.name] for kind in kinds)
        if total + size <= start:
            begin += size
        elif size and total < start + count:
            wanted.append(summary)
        total += size
    if not wanted:
        return Events(total, {})
    present = [kind for kind in kinds if any(summary.counts[kind.name] for summary in wanted)]
    read = _read_events(engine, process_id, scope, present, wanted, start - begin, count)
    return Events(total, read)


def _read_events(
    engine: Engine,
    process_id: str,
    scope: Scope,
    kinds: Sequence[EventKind],
    wanted: Sequence[SegmentSummary],
    start: int,
    count: int,
) -> dict[str, list[ProcessEvent]]:
    arrays = ", ".join(
        readable_array(column.name, column.type) for kind in kinds for column in kind.columns
    )
    ids = {"wanted": [summary.segment_id for summary in wanted]}
    where = Condition("segment_id IN {wanted:Array(UInt64)}", ids)
    windows = sorted({summary.window_ms for summary in wanted})
    found = _of_process(engine, arrays, process_id, scope, windows, where)
    ordered: list[tuple[str, ProcessEvent]] = []
    for row in found.rows:
        segment: list[tuple[str, ProcessEvent]] = []
        at = 0
        for kind in kinds:
            end = at + len(kind.fields)
            segment += zip(
                repeat(kind.name), map(kind.struct, repeat(process_id), *row[at:end]), strict=False
            )
            at = end
        segment.sort(key=_event_time)
        ordered += segment
    by_kind: dict[str, list[ProcessEvent]] = {kind.name: [] for kind in kinds}
    for name, event in ordered[start : start + count]:
        by_kind[name].append(event)
    return by_kind


def _event_time(named: tuple[str, ProcessEvent]) -> int:
    return named[1].time_us


def children_of(
    engine: Engine, process_id: str, scope: Scope, *, limit: int = RELATIVES_MAX
) -> list[dict[str, Any]]:
    """Returns the processes that name this process as their parent, by start time; rows like those
    of `process_rows`. Cached by process: every summary reads them."""
    cached_ids = engine.process_cache.get_or_load(
        process_id,
        ("children", scope, limit),
        lambda: _child_ids(engine, process_id, scope, limit),
        lambda found: 1_000 + 100 * len(found),
    )
    children = _ordered_children(engine, process_id, scope, cached_ids)
    if [row["process_id"] for row in children] == cached_ids:
        return children
    # A better claim of a child names another parent or start: a row of the child alone has it.
    ids = _child_ids(engine, process_id, scope, limit)
    return _ordered_children(engine, process_id, scope, ids)


def _ordered_children(
    engine: Engine, parent_id: str, scope: Scope, ids: Sequence[str]
) -> list[dict[str, Any]]:
    """The processes among `ids` whose parent it is, in the order of `_child_ids`."""
    rows = cached_process_rows(engine, ids, scope).values()
    return sorted(
        (row for row in rows if row["parent_id"] == parent_id),
        key=lambda row: (not row["start"], row["start"], row["process_id"]),
    )


def cached_process_rows(
    engine: Engine, process_ids: Sequence[str], scope: Scope
) -> dict[str, dict[str, Any]]:
    """Like `process_rows`, cached by process. The rows belong to the cache: do not modify them."""
    return engine.process_cache.get_or_load_many(
        process_ids,
        lambda process_id: ("whole", sees(scope, process_id)),
        lambda missing: process_rows(engine, missing, scope),
        row_size,
    )


def _child_ids(engine: Engine, process_id: str, scope: Scope, limit: int) -> list[str]:
    if scope.sees_none:  # Without sensors, no shard would be queried and complete its groups.
        return []
    where = _named_parent(engine, process_id, scope)
    found = engine.query(
        f"SELECT process_id, {aggregated('start')} AS started FROM segment WHERE {where.sql} "
        f"GROUP BY process_id HAVING {_IS_PARENT} "
        "ORDER BY started = fromUnixTimestamp64Micro(0, 'UTC'), started, "
        f"process_id LIMIT {limit:d}",
        where.params,
        settings={**SETTINGS, **engine.capabilities.process_group_settings},
    )
    return [row[0] for row in found.rows]


_IS_PARENT: Final = f"{aggregated('parent_id')} = {{parent:String}}"


def _named_parent(engine: Engine, parent_id: str, scope: Scope) -> Condition:
    """All rows of the processes of which a partial row names the parent; a better claim may name
    another one."""
    named = (
        f"process_id IN (SELECT process_id FROM {engine.capabilities.storage('segment')} "
        "WHERE parent_id = {parent:String})"
    )
    by_process = windows_of(engine.capabilities, named)
    return scoped(Condition(by_process, {"parent": parent_id}), scope)


def ids_of_pid(engine: Engine, parent_id: str, pid: int, scope: Scope, *, limit: int) -> list[str]:
    """Returns the children of a process with a given pid, by start time. Pids are reused, and each
    image that a process executes has its own row."""
    if scope.sees_none:  # Without sensors, no shard would be queried and complete its groups.
        return []
    where = _named_parent(engine, parent_id, scope)
    found = engine.query(
        f"SELECT process_id FROM segment WHERE {where.sql} GROUP BY process_id "
        f"HAVING {_IS_PARENT} AND max(process_pid) = {{pid:UInt32}} "
        f"ORDER BY {aggregated('start')}, process_id LIMIT {limit:d}",
        {**where.params, "pid": pid},
        settings={**SETTINGS, **engine.capabilities.process_group_settings},
    )
    return [row[0] for row in found.rows]


def siblings_of(
    engine: Engine, process_id: str, parent_id: str, scope: Scope, *, limit: int
) -> list[dict[str, Any]]:
    """Returns the other children of a process's parent, by start time."""
    children = children_of(engine, parent_id, scope, limit=limit + 1)
    return [row for row in children if row["process_id"] != process_id][:limit]


def _of_process(
    engine: Engine,
    columns: str,
    process_id: str,
    scope: Scope,
    windows: Sequence[int],
    where: Condition,
) -> Rows:
    """Returns columns of merged segments in these windows, earliest first."""
    own = of_process(process_id, scope, windows)
    return engine.query(
        f"SELECT {columns} FROM segment FINAL WHERE {own.sql} AND ({where.sql}) "
        "ORDER BY segment_id",
        {**own.params, **where.params},
        settings=BY_KEY,
    )
