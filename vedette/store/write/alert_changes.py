"""Changes alerts with one statement: every selected alert gets its next version, or none does.

The statement writes one block, so one part: readers see all of it or nothing (on a cluster, per
shard).
"""

from dataclasses import dataclass
from typing import Any, Final

from vedette.limits import Limit
from vedette.model.findings.alert import ALERT_COLUMNS, ALERT_MAPS, ALERT_TEXTS, CLOSED
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.engine.errors import MOVING
from vedette.store.engine.shard_routing import MOVED
from vedette.store.sql.column_lists import quoted
from vedette.store.sql.scope_filter import scoped

ALERT_HISTORY_MAX: Limit[int] = 200
"""Changes in the history of an alert, the newest ones: a script that changes an alert every minute
must not make it grow forever."""


_ONE_BLOCK: Final = ", ".join(
    (
        *(f"{name} = {value}" for name, value in SETTINGS.items() if isinstance(value, int)),
        "max_insert_threads = 1",
        "min_insert_block_size_rows = 1000000000",
        "min_insert_block_size_bytes = 1099511627776",
        "max_insert_block_size = 1000000000",
        "optimize_on_insert = 0",
        "do_not_merge_across_partitions_select_final = 1",
        "distributed_product_mode = 'local'",
    )
)


@dataclass(frozen=True, slots=True)
class AlertChange:
    """New values of alerts; None leaves a value unchanged. `entry` is the JSON of the history's
    entry."""

    change_id: int
    """Random, not 0: identifies the versions written by the change."""
    time_us: int
    entry: str
    status: str | None = None
    assigned_to: str | None = None
    notes: str | None = None
    report_ignored: bool | None = None
    resolved_us: int | None = None
    """Closing time to set, 0 for open; None derives it from the status."""


def change_alerts(engine: Engine, where: Condition, scope: Scope, change: AlertChange) -> int:
    """Writes the next version of the selected alerts of the scope that differ from the change;
    returns their number. The caller must hold the lock `ALERT_WRITERS`. Raises UnavailableError,
    also if an alert belongs to a sensor that is being moved."""
    within = scoped(where, scope)
    values = _values(change)
    params: dict[str, Any] = {
        **within.params,
        "change_id": change.change_id,
        "changed_us": change.time_us,
        "entry": change.entry,
        **{
            f"new_{name}": int(value) if isinstance(value, bool) else value
            for name, value in (
                ("status", change.status),
                ("assigned_to", change.assigned_to),
                ("notes", change.notes),
                ("report_ignored", change.report_ignored),
                ("resolved_us", change.resolved_us),
            )
            if value is not None
        },
    }
    names = [column.name for column in ALERT_COLUMNS] + [*ALERT_TEXTS, *ALERT_MAPS]
    selected = ", ".join(f"{values.get(name, quoted(name))} AS `_{name}`" for name in names)
    engine.command(
        f"INSERT INTO alert ({', '.join(map(quoted, names))}) SELECT {selected} FROM alert FINAL "
        f"{within.clause} AND ({_differs(change)}) SETTINGS {_ONE_BLOCK}",
        params,
    )
    return changed_by(engine, change.change_id)


def changed_by(engine: Engine, change_id: int) -> int:
    """Returns the number of alerts of which a change wrote a version."""
    count: int = engine.query(
        "SELECT count() FROM alert WHERE change_id = {change:UInt64}", {"change": change_id}
    ).rows[0][0]
    return count


_BOUND: Final = {
    "status": "{new_status:String}",
    "assigned_to": "{new_assigned_to:String}",
    "notes": "{new_notes:String}",
    "report_ignored": "{new_report_ignored:UInt8}",
}
_CHANGE_ID: Final = (
    f"if(throwIf(sensor_id IN {{{MOVED}:Array(UInt32)}}, '{MOVING}') = 0, {{change_id:UInt64}}, 0)"
)
"""Fails if a selected alert belongs to a sensor that is being moved."""
_MOMENT: Final = "fromUnixTimestamp64Micro({changed_us:Int64}, 'UTC')"


def _given(change: AlertChange) -> list[str]:
    return [name for name in _BOUND if getattr(change, name) is not None]


def differing(change: AlertChange) -> Condition:
    """Returns the condition for alerts that differ from a change."""
    given = {
        f"new_{name}": int(value) if isinstance(value, bool) else value
        for name in _given(change)
        if (value := getattr(change, name)) is not None
    }
    return Condition(_differs(change), given)


def _differs(change: AlertChange) -> str:
    return " OR ".join(f"`{name}` != {_BOUND[name]}" for name in _given(change)) or "0"


def _values(change: AlertChange) -> dict[str, str]:
    """Maps column to its new value as SQL."""
    values = {name: _BOUND[name] for name in _given(change)}
    if change.status is not None:
        closed = "(" + ", ".join(f"'{one}'" for one in sorted(CLOSED)) + ")"
        is_open = f"status NOT IN {closed}"
        values["resolved_time"] = (
            f"if({is_open}, {_MOMENT}, resolved_time)"
            if change.status in CLOSED
            else "toDateTime64(0, 6, 'UTC')"
        )
    if change.resolved_us is not None:
        values["resolved_time"] = "fromUnixTimestamp64Micro({new_resolved_us:Int64}, 'UTC')"
    return values | {
        "version": "greatest(version + 1, toUInt64({changed_us:Int64}))",
        "change_id": _CHANGE_ID,
        "updated_time": _MOMENT,
        "history": f"arraySlice(arrayPushBack(history, {{entry:String}}), -{ALERT_HISTORY_MAX:d})",
    }
