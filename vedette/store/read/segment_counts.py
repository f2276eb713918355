"""Segments of a process with event counts and kinds.

Read from the projection in process order (`BY_PROCESS`), so the cost does not depend on the size of
the store. Without FINAL, since an event is in exactly one partial row.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vedette.model.columns import EventKind
from vedette.model.event_facets import STREAMED
from vedette.model.ids import sensor_of
from vedette.model.scope import Scope
from vedette.query.compile.condition import Condition
from vedette.store.engine.client import Engine
from vedette.store.sql.scope_filter import scoped


@dataclass(frozen=True, slots=True)
class SegmentCounts:
    """The segments of a process, earliest first, as parallel lists."""

    window_ms: Sequence[int]
    segment_ids: Sequence[int]
    totals: Sequence[int]
    """Number of events of all `STREAMED` kinds."""
    chosen: Sequence[int]
    """Number of events of the requested kinds."""
    kinds: Sequence[int]
    """Bit set of kinds with events, in the order of `STREAMED`; the first kind is bit 0."""
    is_terminated: bool

    def kinds_in(self, numbers: Sequence[int]) -> list[EventKind]:
        """Returns the kinds with events in the segments with these indexes."""
        kinds = 0
        for number in numbers:
            kinds |= self.kinds[number]
        return [kind for bit, kind in enumerate(STREAMED) if kinds >> bit & 1]


def load_segment_counts(
    engine: Engine,
    process_id: str,
    scope: Scope,
    kinds: Sequence[EventKind] = STREAMED,
    *,
    deadline_s: float | None = None,
) -> SegmentCounts | None:
    """Returns segments and counts of a process; None if the scope has no such process.

    Raises UnavailableError (`reason` "deadline") when it takes longer than `deadline_s`.
    """
    return engine.process_cache.get_or_load(
        process_id,
        ("segment counts", sees(scope, process_id), tuple(kind.name for kind in kinds)),
        lambda: _segment_counts(engine, process_id, scope, kinds, deadline_s),
        _size,
    )


def sees(scope: Scope, process_id: str) -> bool:
    """Whether a scope contains the sensor of a process; results about one process depend on the
    scope only by this."""
    return scope.allows(sensor_of(process_id) or 0)


def row_size(row: Mapping[str, Any] | None) -> int:
    """Returns the approximate memory size of a cached row in bytes."""
    return 3_000 + sum(len(value) for value in (row or {}).values() if isinstance(value, str))


def _size(found: SegmentCounts | None) -> int:
    return 1_000 + (40 * len(found.segment_ids) if found else 0)


def _segment_counts(
    engine: Engine,
    process_id: str,
    scope: Scope,
    kinds: Sequence[EventKind],
    deadline_s: float | None,
) -> SegmentCounts | None:
    where = of_process(process_id, scope)
    bits = " + ".join(
        f"(`{kind.name}_count` > 0) * {1 << bit}" for bit, kind in enumerate(STREAMED)
    )
    is_all = tuple(kinds) == STREAMED
    found = engine.query(
        "SELECT groupArray(windows), groupArray(segment_id), groupArray(total), "
        f"groupArray(kinds), max(ended){'' if is_all else ', groupArray(chosen)'} FROM ("
        f"SELECT segment_id, any(window_ms) AS windows, sum({_added(STREAMED)}) AS total, "
        f"sum({_added(kinds)}) AS chosen, groupBitOr(toUInt64({bits})) AS kinds, "
        f"max(terminated) AS ended FROM {engine.capabilities.by_process} WHERE {where.sql} "
        "GROUP BY segment_id ORDER BY segment_id)",
        where.params,
        deadline_s=deadline_s,
    )
    windows, segment_ids, totals, kind_bits, terminated, *others = found.rows[0]
    if not segment_ids:
        return None
    counts = array("Q", totals)
    chosen = counts if is_all else array("Q", others[0])
    lists = (array("Q", windows), array("Q", segment_ids), counts, chosen, array("Q", kind_bits))
    return SegmentCounts(*lists, bool(terminated))


def present_segment(
    engine: Engine,
    process_id: str,
    segment_id: int,
    scope: Scope,
    *,
    deadline_s: float | None = None,
) -> int | None:
    """Returns `segment_id` if the process has it, else its earliest segment's id; None if the
    process is not in the scope. Raises UnavailableError (`reason` "deadline")."""
    where = of_process(process_id, scope)
    found = engine.query(
        "SELECT count(), countIf(segment_id = {segment:UInt64}), min(segment_id) "
        f"FROM {engine.capabilities.by_process} WHERE {where.sql}",
        {**where.params, "segment": segment_id},
        deadline_s=deadline_s,
    )
    rows, its_rows, earliest = found.rows[0]
    if not rows:
        return None
    return segment_id if its_rows else int(earliest)


def of_process(process_id: str, scope: Scope, windows: Sequence[int] | None = None) -> Condition:
    """Returns a condition on partial rows of one process; by primary key if windows are given."""
    sql = "process_id = {process:String} AND sensor_id = {sensor:UInt32}"
    params: dict[str, Any] = {"process": process_id, "sensor": sensor_of(process_id) or 0}
    if windows is not None:
        sql = f"window_ms IN {{windows:Array(UInt64)}} AND {sql}"
        params["windows"] = list(windows)
    return scoped(Condition(sql, params), scope)


def _added(kinds: Sequence[EventKind]) -> str:
    return " + ".join(f"`{kind.name}_count`" for kind in kinds) or "toUInt64(0)"
