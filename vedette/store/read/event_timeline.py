"""Event counts of a process over time, computed in the engine.

Only time columns are read. Without FINAL, since an event is in exactly one partial row.
"""

from dataclasses import dataclass
from typing import Final

from vedette.model.columns import EVENT_KINDS
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine, Rows
from vedette.store.sql.scope_filter import AT_PROCESS, scoped, windows_of

KINDS: Final = tuple(kind.name for kind in EVENT_KINDS)


@dataclass(frozen=True, slots=True)
class Span:
    """A time range in epoch microseconds, both ends included."""

    first_us: int
    last_us: int


def span_of_events(engine: Engine, process_id: str, scope: Scope, within: Span) -> Span | None:
    """Returns the times of the first and last event of a process within a span; None without
    events."""
    times = ", ".join(_times(kind) for kind in KINDS)
    rows = _ask(
        engine,
        "SELECT count(), min(at), max(at) FROM "
        f"(SELECT arrayJoin(arrayConcat({times})) AS at FROM segment WHERE {{where}})",
        process_id,
        scope,
        within,
    ).rows
    count, first_us, last_us = rows[0]
    return Span(first_us, last_us) if count else None


@dataclass(frozen=True, slots=True)
class Bucket:
    """Events of one kind in one time step; `step` is the number of the step since 1970."""

    step: int
    kind: str
    count: int
    span: Span


def count_events(
    engine: Engine, process_id: str, scope: Scope, within: Span, step_us: int, *, limit: int
) -> list[Bucket]:
    """Returns event counts of a process within a span by step and kind, in order; the first `limit`
    that are not 0."""
    pairs = ", ".join(
        f"arrayMap(at -> (toUInt8({number}), at), {_times(kind)})"
        for number, kind in enumerate(KINDS)
    )
    rows = _ask(
        engine,
        f"SELECT intDiv(event.2, {step_us:d}) AS step, event.1 AS kind, count(), "
        "min(event.2), max(event.2) FROM "
        f"(SELECT arrayJoin(arrayConcat({pairs})) AS event FROM segment WHERE {{where}}) "
        f"GROUP BY step, kind ORDER BY step, kind LIMIT {limit:d}",
        process_id,
        scope,
        within,
    ).rows
    return [
        Bucket(step, KINDS[kind], count, Span(first_us, last_us))
        for step, kind, count, first_us, last_us in rows
    ]


def _times(kind: str) -> str:
    """Returns SQL for the times of one kind within the span, as epoch microseconds."""
    return (
        "arrayFilter(at -> at BETWEEN {first:Int64} AND {last:Int64}, "
        f"arrayMap(at -> toUnixTimestamp64Micro(at), `{kind}_time`))"
    )


def _ask(engine: Engine, sql: str, process_id: str, scope: Scope, within: Span) -> Rows:
    by_process = windows_of(engine.capabilities, "process_id = {process:String}", AT_PROCESS)
    where = scoped(Condition(by_process, {"process": process_id}), scope)
    params = {**where.params, "first": within.first_us, "last": within.last_us}
    return engine.query(sql.replace("{where}", where.sql), params, settings=SETTINGS)
