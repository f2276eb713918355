"""Ignoring reports: later hits of their indicators make no alerts.

The state database decides (`state/policy/ignored_reports.py`); the store's copy is for searches.
"""

from collections.abc import Sequence

from vedette.clock import Clock
from vedette.feeds.report_writer import writing_reports
from vedette.limits import REPORTS_CHANGED_BATCH
from vedette.state.db.database import Database
from vedette.state.policy.ignored_reports import Ignorer, ReportKey, set_ignored
from vedette.store.engine.client import Engine
from vedette.store.write.reports import mark_ignored


def ignore_reports(
    engine: Engine,
    database: Database,
    clock: Clock,
    reports: Sequence[ReportKey],
    *,
    ignored: bool,
    by: Ignorer,
) -> None:
    """Ignore reports from now on, or hear them again; all of them or none."""
    with database.writing() as connection:
        set_ignored(connection, reports, ignored=ignored, by=by)
    show_ignored(engine, database, clock, reports, ignored=ignored)


def show_ignored(
    engine: Engine,
    database: Database,
    clock: Clock,
    reports: Sequence[ReportKey],
    *,
    ignored: bool,
) -> None:
    """Have searches show reports as ignored or not, which the state database says they are."""
    with writing_reports(engine, database, clock) as version:
        for start in range(0, len(reports), REPORTS_CHANGED_BATCH):
            some = reports[start : start + REPORTS_CHANGED_BATCH]
            mark_ignored(engine, some, version, ignored=ignored)
