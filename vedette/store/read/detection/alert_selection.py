"""State of selected alerts before a change: their number, their hosts, and the states that an undo
restores."""

from collections.abc import Sequence
from dataclasses import dataclass

from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.read.detection.alerts import BY_REPORT
from vedette.store.sql.scope_filter import scoped


@dataclass(frozen=True, slots=True)
class Selected:
    """Summary of the alerts that a condition selects. Times are epoch microseconds, 0 without an
    alert."""

    alerts: int
    hosts: int
    oldest_us: int
    newest_us: int
    of_others: int
    """Number of alerts assigned to another user than the caller."""
    reports: int
    """Number of feed reports that created them."""


@dataclass(frozen=True, slots=True)
class EarlierState:
    """The state of some alerts before a change."""

    status: str
    assigned_to: str
    notes: str
    resolved_us: int
    ids: Sequence[str]
    report_ignored: bool = False


def summary(engine: Engine, where: Condition, scope: Scope, username: str) -> Selected:
    """Summarizes the alerts of the scope that a condition selects, from the view of `username`."""
    within = scoped(where, scope)
    row = engine.query(
        "SELECT count(), uniqExactIf(sensor_id, sensor_id != 0), "
        "toUnixTimestamp64Micro(min(created_time)), toUnixTimestamp64Micro(max(created_time)), "
        "countIf(assigned_to NOT IN ('', {selecting_user:String})), "
        f"uniqExactIf((feed_id, report_id), {BY_REPORT}) "
        f"FROM alert FINAL {within.clause}",
        within.params | {"selecting_user": username},
        settings=SETTINGS,
    ).rows[0]
    oldest_us, newest_us = (row[2], row[3]) if row[0] else (0, 0)
    return Selected(row[0], row[1], oldest_us, newest_us, row[4], row[5])


def earlier_states(engine: Engine, where: Condition, scope: Scope) -> list[EarlierState]:
    """Returns the states of the alerts of the scope that a condition selects; alerts with equal
    states share an entry."""
    within = scoped(where, scope)
    found = engine.query(
        "SELECT status, assigned_to, notes, toUnixTimestamp64Micro(resolved_time), "
        f"groupArray(id), CAST(report_ignored, 'Bool') FROM alert FINAL {within.clause} "
        "GROUP BY status, assigned_to, notes, resolved_time, report_ignored",
        within.params,
        settings=SETTINGS,
    )
    return [EarlierState(*row) for row in found.rows]
