"""The first few events of a process for a preview, matching ones first."""

from collections.abc import Mapping, Sequence
from typing import Any

from vedette.model.columns import EventKind
from vedette.model.event import ProcessEvent
from vedette.model.scope import Scope
from vedette.query.compile.binder import Binder, either
from vedette.query.compile.condition import NO_INDEXES, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.sql.column_lists import quoted, readable
from vedette.store.sql.scope_filter import AT_PROCESS, scoped, windows_of


def some_events(
    engine: Engine,
    process_id: str,
    scope: Scope,
    kind: EventKind,
    patterns: Mapping[str, Sequence[str]],
    *,
    segment_id: int | None,
    count: int,
    reach: Reach,
) -> list[ProcessEvent]:
    """Returns `count` events of a kind, of one segment or of all (None): events that match an RE2
    pattern of their columns first, then by segment and time.

    Raises UnavailableError when it takes longer than `reach` allows.
    """
    bind = Binder("m")
    found = [
        f"match({quoted(column.name)}, {bind('String', one)})"
        for column in kind.columns
        for one in patterns.get(column.name, ())
    ]
    matching_first = f"{either(found)} DESC, " if found else ""
    where, params = _of(engine, process_id, scope, segment_id)
    arrays = ", ".join(f"{quoted(one.name)} AS {quoted(one.name)}" for one in kind.columns)
    values = ", ".join(readable(quoted(one.name), one.type) for one in kind.columns)
    rows = reach.ask(
        engine,
        f"SELECT {values} FROM segment ARRAY JOIN {arrays} WHERE {where} "
        f"ORDER BY {matching_first}segment_id, `{kind.name}_time` LIMIT {count:d}",
        {**params, **bind.params},
        indexes=NO_INDEXES,
    ).rows
    return [kind.struct(process_id, *row) for row in rows]


def _of(
    engine: Engine, process_id: str, scope: Scope, segment_id: int | None
) -> tuple[str, dict[str, Any]]:
    which = windows_of(engine.capabilities, "process_id = {process:String}", AT_PROCESS)
    params: dict[str, Any] = {"process": process_id}
    if segment_id is not None:
        which += " AND segment_id = {segment_id:UInt64}"
        params["segment_id"] = segment_id
    where = scoped(Condition(which, params), scope)
    return where.sql, where.params
