"""Reports of feeds whose hits raise no alerts, because a user ignored the report or one of its
alerts."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, select, tuple_, update

from vedette.limits import Limit
from vedette.state.db.database import insert_new
from vedette.state.db.schema_alerts import REPORT_IGNORED

REPORTS_LOOKED_UP_MAX: Limit[int] = 400
"""Reports in one statement; SQLite allows at least 999 parameters."""


ReportKey = tuple[int, str]
"""(feed id, report id)."""


@dataclass(frozen=True, slots=True)
class Ignorer:
    """User who ignored a report, and the time (epoch us)."""

    user_id: int
    username: str
    time_us: int


def set_ignored(
    connection: Connection, reports: Collection[ReportKey], *, ignored: bool, by: Ignorer
) -> set[ReportKey]:
    """Starts or stops ignoring reports, and returns the reports that change. Hits of ignored
    reports are counted."""
    known = ignored_among(connection, reports)
    if not ignored:
        for some in _slices(known):
            connection.execute(delete(REPORT_IGNORED).where(_one_of(some)))
        return known
    new = set(reports) - known
    rows = [
        {
            "feed_id": feed_id,
            "report_id": report_id,
            "user_id": by.user_id,
            "username": by.username,
            "time_us": by.time_us,
        }
        for feed_id, report_id in sorted(new)
    ]
    if rows:
        connection.execute(insert_new(connection, REPORT_IGNORED), rows)
    return new


def ignored_among(connection: Connection, reports: Collection[ReportKey]) -> set[ReportKey]:
    """Returns those of the reports that are ignored."""
    found: set[ReportKey] = set()
    for some in _slices(reports):
        rows = connection.execute(
            select(REPORT_IGNORED.c.feed_id, REPORT_IGNORED.c.report_id).where(_one_of(some))
        )
        found.update((row.feed_id, row.report_id) for row in rows)
    return found


def ignored_by(
    connection: Connection, reports: Collection[ReportKey], by: Ignorer
) -> set[ReportKey]:
    """Returns those of the reports that this user ignored at exactly this time and that are still
    ignored."""
    found: set[ReportKey] = set()
    for some in _slices(reports):
        rows = connection.execute(
            select(REPORT_IGNORED.c.feed_id, REPORT_IGNORED.c.report_id).where(
                _one_of(some),
                REPORT_IGNORED.c.user_id == by.user_id,
                REPORT_IGNORED.c.time_us == by.time_us,
            )
        )
        found.update((row.feed_id, row.report_id) for row in rows)
    return found


def count_hits(connection: Connection, hits: Mapping[ReportKey, int]) -> None:
    """Adds suppressed detections, by report."""
    for (feed_id, report_id), count in sorted(hits.items()):
        connection.execute(
            update(REPORT_IGNORED)
            .where(REPORT_IGNORED.c.feed_id == feed_id, REPORT_IGNORED.c.report_id == report_id)
            .values(hits=REPORT_IGNORED.c.hits + count)
        )


def _slices(reports: Collection[ReportKey]) -> list[list[ReportKey]]:
    keys = sorted(set(reports))
    size = REPORTS_LOOKED_UP_MAX
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def _one_of(reports: list[ReportKey]) -> ColumnElement[bool]:
    return tuple_(REPORT_IGNORED.c.feed_id, REPORT_IGNORED.c.report_id).in_(reports)
