"""Ignoring reports: later hits of their indicators raise no alerts.

The state database is authoritative (`state/policy/ignored_reports.py`); the store's copy serves
searches.
"""

from collections.abc import Sequence

from vedette.clock import Clock
from vedette.feeds.report_writer import writing_reports
from vedette.limits import REPORTS_CHANGED_BATCH, REPORTS_IGNORED_BATCH
from vedette.state.db.database import Database
from vedette.state.policy.ignored_reports import (
    Ignorer,
    ReportKey,
    set_ignored,
)
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
) -> int:
    """Starts or stops ignoring reports, and returns the number of changed reports. Many reports
    take several transactions, in order; call again after a failure."""
    changed = 0
    for start in range(0, len(reports), REPORTS_IGNORED_BATCH):
        some = reports[start : start + REPORTS_IGNORED_BATCH]
        with database.writing() as connection:
            changed += len(set_ignored(connection, some, ignored=ignored, by=by))
    show_ignored(engine, database, clock, reports, ignored=ignored)
    return changed


def show_ignored(
    engine: Engine,
    database: Database,
    clock: Clock,
    reports: Sequence[ReportKey],
    *,
    ignored: bool,
) -> None:
    """Updates the ignored state of reports in the store to match the state database."""
    with writing_reports(engine, database, clock) as version:
        for start in range(0, len(reports), REPORTS_CHANGED_BATCH):
            some = reports[start : start + REPORTS_CHANGED_BATCH]
            mark_ignored(engine, some, version, ignored=ignored)
