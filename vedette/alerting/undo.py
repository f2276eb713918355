"""Undo of bulk changes of alerts: stores the earlier states of the alerts for some minutes, and the
reports whose ignored state changed.

The state database stores them, since the telemetry store merges older versions of alerts away. An
alert that changed again since is not restored.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from vedette.errors import NotFoundError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.query import Condition
from vedette.query.compile.alerts_sql import all_conditions
from vedette.state.db.database import Transaction
from vedette.state.policy import alert_undo
from vedette.state.policy.ignored_reports import ReportKey
from vedette.store.engine.client import Engine
from vedette.store.read.detection.alert_selection import EarlierState, earlier_states
from vedette.store.read.detection.alerts import count_alerts
from vedette.store.write.alert_changes import AlertChange, differing

ALERT_UNDO_ALERTS_MAX: Limit[int] = 20_000
"""Alerts of one bulk change that can be undone; the state database stores their ids."""

ALERT_UNDO_US: Limit[int] = 10 * 60 * 1_000_000
"""Time (us) for which a bulk change can be undone; later, other users have continued from it."""


class _Body(msgspec.Struct):
    entry: str
    states: list[EarlierState]
    ignored: bool | None = None
    reports: list[ReportKey] = []


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """A change that can be undone."""

    change_id: int
    entry: str
    """The entry that it appended to each alert's history."""
    states: Sequence[EarlierState]
    made_us: int
    ignored: bool | None
    """New ignored state of reports; None if the change did not concern reports."""
    reports: Sequence[ReportKey]
    """Reports that had another state before."""


def before(
    engine: Engine, where: Condition, scope: Scope, change: AlertChange
) -> list[EarlierState] | None:
    """Returns the states that a change is about to replace; None if too many alerts change for an
    undo."""
    differ = all_conditions((where, differing(change)))
    if count_alerts(engine, differ, scope) > ALERT_UNDO_ALERTS_MAX:
        return None
    return earlier_states(engine, differ, scope)


def save(
    connection: Transaction,
    change: AlertChange,
    states: Sequence[EarlierState] | None,
    reports: Sequence[ReportKey],
    user: tuple[int, str],
) -> str:
    """Stores the earlier states and the changed reports. Returns the id for the undo; "" if nothing
    changed or the change cannot be undone."""
    if states is None or not (states or reports) or len(reports) > ALERT_UNDO_ALERTS_MAX:
        return ""
    body = _Body(change.entry, list(states), change.report_ignored, list(reports))
    kept = alert_undo.Kept(
        change.change_id,
        user_id=user[0],
        username=user[1],
        made_us=change.time_us,
        expires_us=change.time_us + ALERT_UNDO_US,
        body=msgspec.json.encode(body).decode(),
    )
    alert_undo.keep(connection, kept)
    return str(change.change_id)


def load(connection: Transaction, action_id: str, user_id: int, now_us: int) -> UndoRecord:
    """Returns a user's change that can still be undone. Raises NotFoundError."""
    is_number = action_id.isascii() and action_id.isdecimal() and len(action_id) < 20
    number = int(action_id) if is_number else -1
    kept = alert_undo.get(connection, number) if 0 <= number < 1 << 63 else None
    if kept is None or kept.user_id != user_id or kept.expires_us < now_us:
        raise NotFoundError(f"change {action_id[:40]!r} cannot be undone anymore")
    body = msgspec.json.decode(kept.body, type=_Body)
    return UndoRecord(
        kept.change_id, body.entry, body.states, kept.made_us, body.ignored, body.reports
    )


def forget(connection: Transaction, change_id: int) -> None:
    """Deletes a change that was undone."""
    alert_undo.remove(connection, change_id)


def still_as_changed(known: UndoRecord) -> Condition:
    """Selects alerts whose latest change by a user is this one; they may have had further hits."""
    return Condition(
        "notEmpty(history) AND history[-1] = {undone_entry:String}", {"undone_entry": known.entry}
    )
