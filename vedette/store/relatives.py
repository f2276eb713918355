"""The relatives of many processes at once: what a tree is made of.

Children are known in two ways, and neither is complete: a process names its parent, and a parent
reports its child. The first tells of children whose parent was never heard of, the second of
children that were never heard of themselves. Each question here is one for a whole generation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vedette.model.columns import METADATA
from vedette.model.ids import sensor_of
from vedette.model.scope import Scope
from vedette.query.compile_sql import Condition
from vedette.store.engine import Engine, Rows
from vedette.store.known import PROCESSES_PER_QUERY
from vedette.store.select import BEST_COUNTS, best
from vedette.store.sequence import BY_KEY
from vedette.store.where import guided, scoped


@dataclass(frozen=True, slots=True)
class Report:
    """A child as its parent's events tell of it; what began it, where that was told."""

    parent_id: str
    child_id: str
    time_us: int
    kind: int
    """`model.event.ChildKind`"""
    path: str
    command_line: str
    username: str
    pid: int
    md5: str
    sha256: str
    is_suppressed: bool


@dataclass(frozen=True, slots=True)
class Tie:
    """A process that names its parent."""

    parent_id: str
    child_id: str
    start_us: int
    """0 when no record told."""
    reports: int
    """Events of children of its own."""
    facts: dict[str, Any] | None = field(default=None, compare=False)
    """The process as `facts_of` has it, where that was asked for."""


_BY_INDEX: Final = {name: value for name, value in BY_KEY.items() if name != "use_skip_indexes"}
"""For the children of a process, whom no key names."""

_FACTS: Final = tuple(
    column
    for column in METADATA
    if column.name
    in {
        *("hostname", "group", "os_type", "start", "path", "process_name", "process_pid"),
        *("process_md5", "process_sha256", "cmdline", "username", "terminated", "end_time"),
        *("parent_id", "parent_name", "parent_path", "parent_pid", "parent_md5", "parent_sha256"),
        *("parent_cmdline", "parent_username", "last_update"),
    }
)
"""What a node of a tree shows, and what it tells of its parent."""

_WHOLE: Final = ", ".join(
    [
        "process_id, any(sensor_id) AS best_sensor_id, max(segment_id) AS best_segment_id",
        *map(best, _FACTS),
        BEST_COUNTS,
    ]
)


def ties_of(engine: Engine, parent_ids: Sequence[str], scope: Scope, *, limit: int) -> list[Tie]:
    """The processes that name one of these as their parent, by start time."""
    columns = "process_id, max(parent_id), max(start) AS began, sum(childproc_count)"
    wanted = set(parent_ids)
    return [
        Tie(row[1], row[0], row[2], row[3])
        for rows in _tied(engine, parent_ids, scope, columns, "began", limit)
        for row in rows.rows
        if row[1] in wanted
    ]


def known_ties_of(
    engine: Engine, parent_ids: Sequence[str], scope: Scope, *, limit: int
) -> list[Tie] | None:
    """The same, with what each process is: one question in place of two. None when there are more
    than `limit`."""
    wanted = set(parent_ids)
    found: list[Tie] = []
    for rows in _tied(engine, parent_ids, scope, _WHOLE, "best_start", limit + 1):
        if len(rows.rows) > limit:
            return None
        found += [
            Tie(row["parent_id"], row["process_id"], row["start"], row["childproc_count"], row)
            for row in _told(rows)
            if row["parent_id"] in wanted
        ]
    return found


def _tied(
    engine: Engine, parent_ids: Sequence[str], scope: Scope, columns: str, order: str, limit: int
) -> Iterator[Rows]:
    """Columns of the processes that name one of these as their parent."""
    segment = engine.capabilities.storage("segment")
    # Any partial row may name the parent; what the process is, only all of them together tell.
    # A child is on its parent's host, which the primary key finds before any index is asked.
    named = (
        f"SELECT process_id FROM {segment} "
        "WHERE sensor_id IN {sensors:Array(UInt32)} AND parent_id IN {ids:Array(String)}"
    )
    by_guide = guided(engine.capabilities, f"process_id IN ({named})")
    for ids in _batches(parent_ids):
        sensors = sorted({sensor for one in ids if (sensor := sensor_of(one)) is not None})
        where = scoped(Condition(by_guide, {"ids": ids, "sensors": sensors}), scope)
        yield engine.query(
            f"SELECT {columns} FROM segment "
            f"WHERE {where.sql} GROUP BY process_id ORDER BY {order}, process_id LIMIT {limit:d}",
            where.params,
            settings=_BY_INDEX,
        )


_CHILDPROC: Final = (
    *("time", "started", "kind", "child_id", "path", "command_line"),
    *("username", "pid", "md5", "sha256", "suppressed"),
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
    """The children that these processes reported, by time, each once; `child_ids` limits them, or
    that they were reported as suppressed."""
    arrays = ", ".join(f"childproc_{name} AS {name}" for name in _CHILDPROC)
    # What a child was when it began, not what it became; an end tells less than a start.
    first = "argMin((kind, path, command_line, username, pid, md5, sha256), (started = 0, time))"
    which = "" if child_ids is None else " AND child_id IN {children:Array(String)}"
    which += " AND suppressed" if only_suppressed else ""
    found: list[Report] = []
    by_guide = guided(engine.capabilities, "process_id IN {ids:Array(String)}")
    for ids in _batches(parent_ids):
        where = scoped(Condition(by_guide, {"ids": ids, "children": list(child_ids or ())}), scope)
        rows = engine.query(
            f"SELECT process_id, child_id, min(time) AS began, {first}, toBool(max(suppressed)) "
            f"FROM segment ARRAY JOIN {arrays} WHERE {where.sql} AND child_id != ''{which} "
            f"GROUP BY process_id, child_id ORDER BY began, child_id LIMIT {limit:d}",
            where.params,
            settings=BY_KEY,
        ).rows
        found += [Report(*(*row[:3], *row[3], row[4])) for row in rows]
    return found


def facts_of(engine: Engine, process_ids: Sequence[str], scope: Scope) -> dict[str, dict[str, Any]]:
    """What a tree shows of processes, by id: metadata, sums of counts, `sensor_id`, and the id of
    the latest segment as `segment_id`. Those that cannot be seen are left out."""
    by_guide = guided(engine.capabilities, "process_id IN {ids:Array(String)}")
    found: dict[str, dict[str, Any]] = {}
    for ids in _batches(process_ids):
        where = scoped(Condition(by_guide, {"ids": ids}), scope)
        rows = engine.query(
            f"SELECT {_WHOLE} FROM segment WHERE {where.sql} GROUP BY process_id",
            where.params,
            settings=BY_KEY,
        )
        found |= {row["process_id"]: row for row in _told(rows)}
    return found


def _told(rows: Rows) -> Iterator[dict[str, Any]]:
    """Rows of `_WHOLE` under the names of the columns."""
    names = [name.removeprefix("best_") for name in rows.names]
    return (dict(zip(names, row, strict=True)) for row in rows.rows)


def _batches(ids: Sequence[str]) -> Iterator[list[str]]:
    for at in range(0, len(ids), PROCESSES_PER_QUERY):
        yield list(ids[at : at + PROCESSES_PER_QUERY])
