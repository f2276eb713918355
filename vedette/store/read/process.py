"""Reads processes: segments, merged metadata, events, relatives.

Segments and counts come from the projection `BY_PROCESS`, the windows of several processes from the
table `process`; all else is then read by primary key. Events are ordered by segment, then by time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from msgspec import Struct

from vedette.limits import RELATIVES_MAX
from vedette.model.columns import EVENT_KINDS, EventKind
from vedette.model.event import ProcessEvent
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine, Rows
from vedette.store.read.process_events import BY_KEY
from vedette.store.read.segment_counts import of_process, row_size, sees
from vedette.store.sql.column_lists import BEST, COUNTS, quoted, readable_array
from vedette.store.sql.scope_filter import (
    AT_PROCESSES,
    found_by_sensor,
    scoped,
    windows_of,
    with_sensors,
)

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
    """Event counts by kind name, kinds that are not streamed included."""


class Events(Struct):
    """Events by kind name, each list in order."""

    total: int
    """All events of the requested kinds and segments; `by_kind` is a slice of them."""
    by_kind: dict[str, list[ProcessEvent]]


def segments_of(
    engine: Engine, process_id: str, scope: Scope, *, first: int = 0, last: int = _LAST
) -> list[SegmentSummary]:
    """Segments of a process with ids from `first` to `last`, earliest first; [] when the scope
    sees none."""
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
    """Processes by id, merged over all their segments: metadata and summed counts.

    Rows as those of `segment_search.Found`; `segment_id` is the latest segment's, and
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
    """`count` events of a process from offset `start`, of one segment or of all (None). Reads only
    the segments that hold them."""
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
    """The processes that name this one as their parent, by start time; rows as `process_rows`.
    Cached by process: a summary asks for them every time."""
    ids = engine.process_cache.get_or_load(
        process_id,
        ("children", scope, limit),
        lambda: _child_ids(engine, process_id, scope, limit),
        lambda found: 1_000 + 100 * len(found),
    )
    known = cached_process_rows(engine, ids, scope)
    return [known[name] for name in ids if name in known]


def cached_process_rows(
    engine: Engine, process_ids: Sequence[str], scope: Scope
) -> dict[str, dict[str, Any]]:
    """`process_rows`, cached by process. The rows belong to the cache: do not change them."""
    return engine.process_cache.get_or_load_many(
        process_ids,
        lambda process_id: ("whole", sees(scope, process_id)),
        lambda missing: process_rows(engine, missing, scope),
        row_size,
    )


def _child_ids(engine: Engine, process_id: str, scope: Scope, limit: int) -> list[str]:
    if scope.sees_none:  # No shard would be asked, and none end its groups.
        return []
    where = scoped(Condition("parent_id = {parent:String}", {"parent": process_id}), scope)
    # The first partial row of a process in a window has its parent; any partial row matches.
    found = engine.query(
        f"SELECT process_id, max(start) AS started FROM segment WHERE {where.sql} "
        "GROUP BY process_id ORDER BY started = fromUnixTimestamp64Micro(0, 'UTC'), started, "
        f"process_id LIMIT {limit:d}",
        where.params,
        settings=engine.capabilities.process_group_settings,
    )
    return [row[0] for row in found.rows]


def ids_of_pid(engine: Engine, parent_id: str, pid: int, scope: Scope, *, limit: int) -> list[str]:
    """The children of a process that had a pid, by start time. Pids are used again, and each image
    that a process executes has a row of its own."""
    if scope.sees_none:  # No shard would be asked, and none end its groups.
        return []
    where = scoped(Condition("parent_id = {parent:String}", {"parent": parent_id}), scope)
    found = engine.query(
        f"SELECT process_id FROM segment WHERE {where.sql} GROUP BY process_id "
        f"HAVING max(process_pid) = {{pid:UInt32}} ORDER BY max(start), process_id LIMIT {limit:d}",
        {**where.params, "pid": pid},
        settings=engine.capabilities.process_group_settings,
    )
    return [row[0] for row in found.rows]


def siblings_of(
    engine: Engine, process_id: str, parent_id: str, scope: Scope, *, limit: int
) -> list[dict[str, Any]]:
    """The other children of a process's parent, by start time."""
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
    """Columns of merged segments in these windows, earliest first."""
    own = of_process(process_id, scope, windows)
    return engine.query(
        f"SELECT {columns} FROM segment FINAL WHERE {own.sql} AND ({where.sql}) "
        "ORDER BY segment_id",
        {**own.params, **where.params},
        settings=BY_KEY,
    )
