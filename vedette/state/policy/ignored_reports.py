"""Reports of feeds whose hits make no alerts, because someone said so of the report or of an alert
that it made."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, select, tuple_, update

from vedette.limits import REPORTS_LOOKED_UP_MAX
from vedette.state.db.database import insert_new
from vedette.state.db.schema_alerts import REPORT_IGNORED

ReportKey = tuple[int, str]
"""Id of the feed, id of the report."""


@dataclass(frozen=True, slots=True)
class Ignorer:
    """Who ignores a report, and when (epoch microseconds)."""

    user_id: int
    username: str
    time_us: int


def set_ignored(
    connection: Connection, reports: Collection[ReportKey], *, ignored: bool, by: Ignorer
) -> None:
    """Ignores reports from now on, or hears them again. Hits of an ignored report are counted."""
    if not ignored:
        for some in _slices(reports):
            connection.execute(delete(REPORT_IGNORED).where(_one_of(some)))
        return
    known = ignored_among(connection, reports)
    rows = [
        {
            "feed_id": feed_id,
            "report_id": report_id,
            "user_id": by.user_id,
            "username": by.username,
            "time_us": by.time_us,
        }
        for feed_id, report_id in sorted(set(reports) - known)
    ]
    if rows:
        connection.execute(insert_new(connection, REPORT_IGNORED), rows)


def ignored_among(connection: Connection, reports: Collection[ReportKey]) -> set[ReportKey]:
    """Those of the reports that are ignored."""
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
    """Those of the reports that this user has ignored at that very time, and nobody heard since."""
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
    """Adds detections that made no alert, by report."""
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
