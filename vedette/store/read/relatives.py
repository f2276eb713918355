"""Reads relatives of many processes at once, for process trees.

There are two sources of children, and neither is complete: the `parent_id` of a process (also for
parents without telemetry), and childproc events of the parent (also for children without
telemetry). Each query here covers a whole generation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.limits import RECOVERY_PROCESSES_PER_QUERY, Limit
from vedette.model.columns import METADATA, Column
from vedette.model.ids import sensor_of
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.read.process_events import BY_KEY
from vedette.store.sql.column_lists import BEST_COUNTS, aggregated, best
from vedette.store.sql.scope_filter import (
    AT_PROCESSES,
    found_by_sensor,
    scoped,
    windows_of,
    with_sensors,
)

CHILD_REPORTS_MAX: Limit[int] = 100
"""Childproc events read together with a process: most processes have fewer children."""

PROCESSES_WITH_REPORTS_MAX: Limit[int] = 1_000
"""Processes per query that also reads childproc events; with more, the events would fill the
memory."""


@dataclass(frozen=True, slots=True)
class Report:
    """A child as described by the childproc events of its parent."""

    parent_id: str
    child_id: str
    time_us: int
    kind: int
    """A `model.event.ChildKind`."""
    path: str
    command_line: str
    username: str
    pid: int
    md5: str
    sha256: str
    is_suppressed: bool


@dataclass(frozen=True, slots=True)
class Tie:
    """A process and its `parent_id`."""

    parent_id: str
    child_id: str
    start_us: int
    """0 if unknown."""
    reports: int
    """Number of its own childproc events."""


@dataclass(frozen=True, slots=True)
class Known:
    """A process (a row of `facts_of`) and the children that its events report."""

    row: dict[str, Any]
    reports: list[Report] | None
    """None if there are too many; use `reports_of`."""


_BY_INDEX: Final = {name: value for name, value in BY_KEY.items() if name != "use_skip_indexes"}
"""Settings for reading children of a process, which are not found by a key."""

_SHOWN: Final = frozenset(
    (
        "hostname",
        "group",
        "start",
        "path",
        "process_name",
        "process_pid",
        "process_md5",
        "process_sha256",
        "cmdline",
        "username",
        "terminated",
        "end_time",
        "parent_id",
        "last_update",
    )
)
_OF_PARENT: Final = frozenset(
    (
        "parent_name",
        "parent_path",
        "parent_pid",
        "parent_md5",
        "parent_sha256",
        "parent_cmdline",
        "parent_username",
    )
)

NODE: Final = tuple(column for column in METADATA if column.name in _SHOWN)
"""Columns that a tree node shows."""

FACTS: Final = tuple(column for column in METADATA if column.name in _SHOWN | _OF_PARENT)
"""`_SHOWN` and the columns about the parent."""


_NAMED: Final = "sensor_id IN {sensors:Array(UInt32)} AND parent_id IN {ids:Array(String)}"
"""A child is on its parent's host: the primary key narrows by sensor before any index does."""


def _sensed(ids: list[str]) -> dict[str, Any]:
    """Returns the parameters of `_NAMED`."""
    sensors = sorted({sensor for one in ids if (sensor := sensor_of(one)) is not None})
    return {"ids": ids, "sensors": sensors}


def ties_of(engine: Engine, parent_ids: Sequence[str], scope: Scope, *, limit: int) -> list[Tie]:
    """Returns processes whose parent is one of these, by start time."""
    if scope.sees_none:  # Without sensors, no shard would be queried and complete its groups.
        return []
    segment = engine.capabilities.storage("segment")
    # Any partial row may match; the metadata is that of all partial rows merged.
    named = f"process_id IN (SELECT process_id FROM {segment} WHERE {_NAMED})"
    by_process = windows_of(engine.capabilities, named)
    wanted = set(parent_ids)
    found: list[Tie] = []
    for ids in _batches(parent_ids):
        where = scoped(Condition(by_process, _sensed(ids)), scope)
        rows = engine.query(
            f"SELECT process_id, {aggregated('parent_id')}, {aggregated('start')} AS began, "
            "sum(childproc_count) "
            f"FROM segment WHERE {where.sql} "
            f"GROUP BY process_id ORDER BY began, process_id LIMIT {limit:d}",
            where.params,
            settings={**_BY_INDEX, **engine.capabilities.process_group_settings},
        ).rows
        found += [Tie(row[1], row[0], row[2], row[3]) for row in rows if row[1] in wanted]
    return found


def children_named(engine: Engine, parent_ids: Sequence[str], limit: int) -> list[str] | None:
    """Returns ids of processes with a partial row whose parent is one of these, in any scope,
    without merging rows. None if there are more than `limit`."""
    found: set[str] = set()
    for ids in _batches(parent_ids):
        rows = engine.query(
            f"SELECT groupUniqArray({limit + 1:d})(process_id) FROM segment WHERE {_NAMED}",
            _sensed(ids),
            settings=_BY_INDEX,
        ).rows
        found.update(rows[0][0])
        if len(found) > limit:
            return None
    return sorted(found)


_CHILDPROC: Final = (
    "time",
    "started",
    "kind",
    "child_id",
    "path",
    "command_line",
    "username",
    "pid",
    "md5",
    "sha256",
    "suppressed",
)
_WITH_REPORTS: Final = (
    f"groupArrayArray({CHILD_REPORTS_MAX:d})"
    f"(arrayZip({', '.join(f'childproc_{name}' for name in _CHILDPROC)})) AS best_events"
)


def reports_of(
    engine: Engine,
    parent_ids: Sequence[str],
    scope: Scope,
    *,
    limit: int,
    child_ids: Sequence[str] | None = None,
    only_suppressed: bool = False,
) -> list[Report]:
    """Returns the children in the childproc events of these processes, by time, each once;
    optionally only `child_ids`, or only suppressed ones."""
    arrays = ", ".join(f"childproc_{name} AS {name}" for name in _CHILDPROC)
    # The values at the child's start; an end event has fewer of them.
    first = "argMin((kind, path, command_line, username, pid, md5, sha256), (started = 0, time))"
    which = "" if child_ids is None else " AND child_id IN {children:Array(String)}"
    which += " AND suppressed" if only_suppressed else ""
    found: list[Report] = []
    by_process = windows_of(engine.capabilities, "process_id IN {ids:Array(String)}", AT_PROCESSES)
    for ids in _batches(found_by_sensor(engine.capabilities, parent_ids, scope)):
        where = scoped(
            Condition(by_process, {**with_sensors(ids), "children": list(child_ids or ())}), scope
        )
        rows = engine.query(
            f"SELECT process_id, child_id, min(time) AS began, {first}, toBool(max(suppressed)) "
            f"FROM segment ARRAY JOIN {arrays} WHERE {where.sql} AND child_id != ''{which} "
            f"GROUP BY process_id, child_id ORDER BY began, child_id LIMIT {limit:d}",
            where.params,
            settings={**BY_KEY, **engine.capabilities.process_group_settings},
        ).rows
        found += [Report(*(*row[:3], *row[3], row[4])) for row in rows]
    return found


def facts_of(
    engine: Engine, process_ids: Sequence[str], scope: Scope, columns: Sequence[Column] = FACTS
) -> dict[str, dict[str, Any]]:
    """Maps process id to its row for a tree: metadata, summed counts, `sensor_id`, and the latest
    segment's id as `segment_id`. Processes outside the scope are omitted."""
    by_id = _facts(engine, process_ids, scope, columns)
    return {row["process_id"]: row for row in by_id}


def known_of(
    engine: Engine, process_ids: Sequence[str], scope: Scope, columns: Sequence[Column]
) -> dict[str, Known]:
    """Like `facts_of`, with the children that each process reported: one query in place of two."""
    if len(process_ids) > PROCESSES_WITH_REPORTS_MAX:
        rows = _facts(engine, process_ids, scope, columns)
        return {row["process_id"]: Known(row, None) for row in rows}
    found: dict[str, Known] = {}
    for row in _facts(engine, process_ids, scope, columns, _WITH_REPORTS):
        process_id, events = row["process_id"], row.pop("events")
        is_all = row["childproc_count"] <= CHILD_REPORTS_MAX
        found[process_id] = Known(row, _reports(process_id, events) if is_all else None)
    return found


def _facts(
    engine: Engine,
    process_ids: Sequence[str],
    scope: Scope,
    columns: Sequence[Column],
    *others: str,
) -> Iterator[dict[str, Any]]:
    sensor_and_segment = "any(sensor_id) AS best_sensor_id, max(segment_id) AS best_segment_id"
    selected = ", ".join((sensor_and_segment, *map(best, columns), BEST_COUNTS, *others))
    by_process = windows_of(engine.capabilities, "process_id IN {ids:Array(String)}", AT_PROCESSES)
    for ids in _batches(found_by_sensor(engine.capabilities, process_ids, scope)):
        where = scoped(Condition(by_process, with_sensors(ids)), scope)
        rows = engine.query(
            f"SELECT process_id, {selected} FROM segment WHERE {where.sql} GROUP BY process_id",
            where.params,
            settings={**BY_KEY, **engine.capabilities.process_group_settings},
        )
        names = [name.removeprefix("best_") for name in rows.names]
        yield from (dict(zip(names, row, strict=True)) for row in rows.rows)


def _reports(parent_id: str, rows: Sequence[tuple[Any, ...]]) -> list[Report]:
    """Returns the children in a process's own events, each once, like `reports_of`."""
    first: dict[str, tuple[Any, ...]] = {}
    since: dict[str, int] = {}
    suppressed: set[str] = set()
    for event in rows:
        time_us, started, _, child_id, *_ = event
        since[child_id] = min(time_us, since.get(child_id, time_us))
        if event[-1]:
            suppressed.add(child_id)
        known = first.get(child_id)
        if known is None or (started == 0, time_us) < (known[1] == 0, known[0]):
            first[child_id] = event
    return [
        Report(*(parent_id, child_id, since[child_id], kind, *label, child_id in suppressed))
        for child_id, (_, _, kind, _, *label, _) in first.items()
        if child_id
    ]


def _batches(ids: Sequence[str]) -> Iterator[list[str]]:
    for at in range(0, len(ids), RECOVERY_PROCESSES_PER_QUERY):
        yield list(ids[at : at + RECOVERY_PROCESSES_PER_QUERY])
