"""What people do with alerts: status, who looks after it, notes, reports that are ignored."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import msgspec

from vedette.alerting import undo
from vedette.alerting.undo import UndoRecord
from vedette.errors import ConflictError, NotFoundError
from vedette.limits import ALERT_AUDIT_QUERY_CHARS_MAX, NEWEST_ALERT_US
from vedette.model.findings.alert import AlertRow, HistoryEntry
from vedette.model.scope import Scope
from vedette.query import Condition
from vedette.query.compile.alerts_sql import all_conditions
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.db.database import Database, Transaction
from vedette.state.policy import alert_audit, ignored_reports
from vedette.state.policy.ignored_reports import Ignorer, ReportKey
from vedette.store.engine.client import Engine
from vedette.store.read.detection.alert_selection import summary
from vedette.store.read.detection.alerts import alerts_by_id, reports_of
from vedette.store.read.detection.cloud_alerts import newest_creation_us
from vedette.store.write.alert_changes import AlertChange, change_alerts
from vedette.store.write.alerts import ALERT_WRITERS


@dataclass(frozen=True, slots=True)
class Wanted:
    """What alerts shall become; None leaves as it is. `status` is one of `model/alert.STATUSES`."""

    status: str | None = None
    assigned_to: str | None = None
    notes: str | None = None
    report_ignored: bool | None = None


@dataclass(frozen=True, slots=True)
class Analyst:
    """Who changes alerts, and when (epoch microseconds)."""

    user_id: int
    username: str
    time_us: int
    may_ignore: bool = False
    """Whether they may have reports ignored, for the hosts of every group."""


@dataclass(frozen=True, slots=True)
class BulkChanged:
    """What a bulk change did, or taking it back."""

    changed: int
    """Alerts that were not so already."""
    action_id: str
    """By which it can be undone, "" where it cannot."""
    reports: Sequence[ReportKey]
    """Those that are ignored or not ignored any more: searches of reports should say so too."""
    ignored: bool = False
    """What these are now."""


def change_alert(
    engine: Engine, database: Database, scope: Scope, alert_id: str, wanted: Wanted, by: Analyst
) -> AlertRow:
    """Changes one alert of the scope and returns it. Raises NotFoundError.

    Alerts lie in another store than the audit log: its entry is written before the change."""
    with database.exclusive(ALERT_WRITERS):
        _note(database, _known(engine, scope, alert_id), wanted)
        change_alerts(engine, ids_condition([alert_id]), scope, _change(wanted, by))
    return _known(engine, scope, alert_id)


def _known(engine: Engine, scope: Scope, alert_id: str) -> AlertRow:
    found = alerts_by_id(engine, [alert_id], scope).get(alert_id)
    if found is None:
        raise NotFoundError(f"there is no alert {alert_id[:64]!r}")
    return found


def _note(database: Database, alert: AlertRow, wanted: Wanted) -> None:
    """Nothing of what is so already."""
    given = {name: value for name, value in asdict(wanted).items() if value is not None}
    after = {name: value for name, value in given.items() if value != alert[name]}
    if after:
        before = {name: alert[name] for name in after}
        audit_trail.record(database, Entry("change", "alert", str(alert["id"]), before, after))


def change_alerts_at_once(
    engine: Engine,
    database: Database,
    scope: Scope,
    where: Condition,
    selected: str,
    wanted: Wanted,
    by: Analyst,
    expected: int | None = None,
) -> BulkChanged:
    """Changes all alerts of the scope that a condition selects, or none. `selected` gives the audit
    which. An ignored report makes no more alerts.

    Raises ConflictError when the selection is not the `expected` number of alerts.
    """
    change = _change(wanted, by)
    with database.exclusive(ALERT_WRITERS):
        if expected is not None:
            _check_expected(engine, where, scope, expected)
        earlier = undo.before(engine, where, scope, change)
        with database.writing() as transaction:
            audit_id = alert_audit.begin(
                transaction,
                time_us=by.time_us,
                user_id=by.user_id,
                username=by.username,
                selected=selected[:ALERT_AUDIT_QUERY_CHARS_MAX],
                changes=change.entry,
                change_id=change.change_id,
            )
        reports = [] if wanted.report_ignored is None else reports_of(engine, where, scope)
        changed = change_alerts(engine, where, scope, change)
        with database.writing() as transaction:
            alert_audit.finish(transaction, audit_id, changed)
            others = _set_ignored(transaction, reports, wanted.report_ignored, by)
            action_id = undo.save(
                transaction, change, earlier if changed else [], others, (by.user_id, by.username)
            )
    return BulkChanged(changed, action_id, reports, wanted.report_ignored is True)


def _set_ignored(
    transaction: Transaction, reports: Sequence[ReportKey], ignored: bool | None, by: Analyst
) -> list[ReportKey]:
    """Ignores reports or hears them again; those that were not so already."""
    if ignored is None:
        return []
    known = ignored_reports.ignored_among(transaction, reports)
    ignorer = Ignorer(by.user_id, by.username, by.time_us)
    ignored_reports.set_ignored(transaction, reports, ignored=ignored, by=ignorer)
    return [report for report in reports if (report in known) != ignored]


def undo_change(
    engine: Engine, database: Database, scope: Scope, action_id: str, by: Analyst
) -> BulkChanged:
    """Takes back a bulk change of the caller's; `changed` is how many alerts are again what they
    were. Those that were changed since stay, and so do reports that somebody ignored or heard
    again since. Raises NotFoundError, also after the time for it."""
    with database.exclusive(ALERT_WRITERS):
        with database.reading() as connection:
            known = undo.load(connection, action_id, by.user_id, by.time_us)
            reports = _to_undo(connection, known, by)
        with database.writing() as transaction:
            audit_id = alert_audit.begin(
                transaction,
                time_us=by.time_us,
                user_id=by.user_id,
                username=by.username,
                selected=f"undo of change {known.change_id}",
                changes="{}",
                change_id=0,
            )
        restored = 0
        for state in known.states:
            marked = None if known.ignored is None else state.report_ignored
            wanted = Wanted(state.status, state.assigned_to, state.notes, marked)
            change = replace(_change(wanted, by), resolved_us=state.resolved_us)
            where = all_conditions((ids_condition(state.ids), undo.still_as_changed(known)))
            restored += change_alerts(engine, where, scope, change)
        with database.writing() as transaction:
            alert_audit.finish(transaction, audit_id, restored)
            if reports:
                _set_ignored(transaction, reports, not known.ignored, by)
            undo.forget(transaction, known.change_id)
    return BulkChanged(restored, "", reports, not known.ignored)


def _to_undo(connection: Transaction, known: UndoRecord, by: Analyst) -> list[ReportKey]:
    """The reports that are still as the change left them; none for who may not ignore any more."""
    if not by.may_ignore:
        return []
    if not known.ignored:
        active = set(known.reports) - ignored_reports.ignored_among(connection, known.reports)
        return sorted(active)
    ignorer = Ignorer(by.user_id, by.username, known.made_us)
    return sorted(ignored_reports.ignored_by(connection, known.reports, ignorer))


def _check_expected(engine: Engine, where: Condition, scope: Scope, expected: int) -> None:
    found = summary(engine, where, scope, "").alerts
    if found != expected:
        raise ConflictError(
            f"expected: these are {found:,} alerts now, not {expected:,}; look again",
            reason="count_changed",
        )


def except_ids_condition(ids: Sequence[str]) -> Condition:
    """The alerts without these ids, in lower case."""
    return Condition("id NOT IN {except_ids:Array(String)}", {"except_ids": list(ids)})


def newest_alert_us(engine: Engine, database: Database, now_us: int) -> int:
    """By when the alerts that are there now were made (epoch microseconds); all others are made
    later. Waits for alerts that are being written: those have their times before they are seen."""
    with database.exclusive(ALERT_WRITERS):
        return newest_creation_us(engine, now_us - NEWEST_ALERT_US)


def until_condition(time_us: int) -> Condition:
    """The alerts that were made by a time (epoch microseconds)."""
    return Condition(
        "created_time <= fromUnixTimestamp64Micro({until_us:Int64}, 'UTC')", {"until_us": time_us}
    )


def ids_condition(ids: Sequence[str]) -> Condition:
    """The alerts with these ids, in lower case."""
    return Condition(
        "1",
        {"alert_ids": list(ids)},
        before="(created_time, id) IN "
        "(SELECT created_time, id FROM alert WHERE id IN {alert_ids:Array(String)})",
    )


def _change(wanted: Wanted, by: Analyst) -> AlertChange:
    entry = HistoryEntry(
        by.time_us,
        by.user_id,
        by.username,
        wanted.status,
        wanted.assigned_to,
        wanted.notes,
        wanted.report_ignored,
    )
    return AlertChange(
        # 63 bits: the state database has no unsigned numbers.
        change_id=secrets.randbits(62) + 1,
        time_us=by.time_us,
        entry=msgspec.json.encode(entry).decode(),
        status=wanted.status,
        assigned_to=wanted.assigned_to,
        notes=wanted.notes,
        report_ignored=wanted.report_ignored,
    )
