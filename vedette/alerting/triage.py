"""Changes of alerts by users: status, assignee, notes, ignored reports."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import msgspec

from vedette.alerting import undo
from vedette.alerting.undo import UndoRecord
from vedette.errors import ConflictError, NotFoundError
from vedette.limits import REPORTS_IGNORED_BATCH, Limit
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

ALERT_AUDIT_QUERY_CHARS_MAX: Limit[int] = 8_192
"""Characters of a query in the audit."""

NEWEST_ALERT_US: Limit[int] = 60 * 60 * 1_000_000
"""Period (us) before now that is searched for the newest alert; exceeds the differences of servers'
clocks."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Values to set on alerts; None leaves a value unchanged. `status` is in
    `model/alert.STATUSES`."""

    status: str | None = None
    assigned_to: str | None = None
    notes: str | None = None
    report_ignored: bool | None = None


@dataclass(frozen=True, slots=True)
class Analyst:
    """The author of a change of alerts, and its time (epoch us)."""

    user_id: int
    username: str
    time_us: int
    may_ignore: bool = False
    """Whether the user may ignore reports for hosts of all groups."""


@dataclass(frozen=True, slots=True)
class BulkChanged:
    """Result of a bulk change or of its undo."""

    changed: int
    """Alerts whose values differed before."""
    action_id: str
    """Id for undoing the change; "" if it cannot be undone."""
    reports: Sequence[ReportKey]
    """Reports whose ignored state changed; searches of reports must show it too."""
    ignored: bool = False
    """The new state of these reports."""


def change_alert(
    engine: Engine, database: Database, scope: Scope, alert_id: str, wanted: Wanted, by: Analyst
) -> AlertRow:
    """Changes one alert of the scope and returns it. Raises NotFoundError.

    Alerts and audit log are in different databases; the audit entry is written before the change.
    """
    with database.exclusive(ALERT_WRITERS):
        _note(database, _known(engine, scope, alert_id), wanted)
        change_alerts(engine, ids_condition([alert_id]), scope, _change(wanted, by))
    return _known(engine, scope, alert_id)


def _known(engine: Engine, scope: Scope, alert_id: str) -> AlertRow:
    found = alerts_by_id(engine, [alert_id], scope).get(alert_id)
    if found is None:
        raise NotFoundError(f"alert {alert_id[:64]!r} not found")
    return found


def _note(database: Database, alert: AlertRow, wanted: Wanted) -> None:
    """Writes an audit entry with the values that change; none if nothing changes."""
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
    """Changes all alerts of the scope that a condition selects. `selected` describes the selection
    in the audit. An ignored report raises no more alerts.

    Raises ConflictError, and changes nothing, if the selection does not have the `expected` number
    of alerts.
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
        others = _set_ignored(database, reports, wanted.report_ignored, by)
        with database.writing() as transaction:
            alert_audit.finish(transaction, audit_id, changed)
            action_id = undo.save(
                transaction, change, earlier if changed else [], others, (by.user_id, by.username)
            )
    return BulkChanged(changed, action_id, reports, wanted.report_ignored is True)


def _set_ignored(
    database: Database, reports: Sequence[ReportKey], ignored: bool | None, by: Analyst
) -> list[ReportKey]:
    """Starts or stops ignoring reports, `REPORTS_IGNORED_BATCH` per transaction. Returns the
    reports that changed."""
    if ignored is None:
        return []
    ignorer = Ignorer(by.user_id, by.username, by.time_us)
    changed: set[ReportKey] = set()
    for start in range(0, len(reports), REPORTS_IGNORED_BATCH):
        some = reports[start : start + REPORTS_IGNORED_BATCH]
        with database.writing() as transaction:
            changed |= ignored_reports.set_ignored(transaction, some, ignored=ignored, by=ignorer)
    return [report for report in reports if report in changed]


def undo_change(
    engine: Engine, database: Database, scope: Scope, action_id: str, by: Analyst
) -> BulkChanged:
    """Undoes a bulk change of the caller; `changed` is the number of restored alerts. Skips alerts
    that changed since, and reports whose ignored state changed since. Raises NotFoundError, also
    after the time limit."""
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
        if reports:
            _set_ignored(database, reports, not known.ignored, by)
        with database.writing() as transaction:
            alert_audit.finish(transaction, audit_id, restored)
            undo.forget(transaction, known.change_id)
    return BulkChanged(restored, "", reports, not known.ignored)


def _to_undo(connection: Transaction, known: UndoRecord, by: Analyst) -> list[ReportKey]:
    """Returns the reports that are still as the change left them; [] if the user may no longer
    ignore reports."""
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
            f"expected: {found:,} alerts match now, not {expected:,}; preview again",
            reason="count_changed",
        )


def except_ids_condition(ids: Sequence[str]) -> Condition:
    """Selects alerts whose ids are not among `ids` (lower case)."""
    return Condition("id NOT IN {except_ids:Array(String)}", {"except_ids": list(ids)})


def newest_alert_us(engine: Engine, database: Database, now_us: int) -> int:
    """Returns the time (epoch us) by which all present alerts were created; later alerts have later
    times. Waits for alerts that are being written, whose times are assigned before they are
    visible."""
    with database.exclusive(ALERT_WRITERS):
        return newest_creation_us(engine, now_us - NEWEST_ALERT_US)


def until_condition(time_us: int) -> Condition:
    """Selects alerts created by a time (epoch us)."""
    return Condition(
        "created_time <= fromUnixTimestamp64Micro({until_us:Int64}, 'UTC')", {"until_us": time_us}
    )


def ids_condition(ids: Sequence[str]) -> Condition:
    """Selects alerts by id (lower case)."""
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
        # 63 bits, since the state database has no unsigned integers.
        change_id=secrets.randbits(62) + 1,
        time_us=by.time_us,
        entry=msgspec.json.encode(entry).decode(),
        status=wanted.status,
        assigned_to=wanted.assigned_to,
        notes=wanted.notes,
        report_ignored=wanted.report_ignored,
    )
