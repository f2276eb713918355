"""Reads threat reports and indicators of feeds, in their newest versions."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from vedette.limits import REPORTS_CHANGED_BATCH
from vedette.model.threat.report_columns import (
    INDICATOR_COLUMNS,
    REPORT_ADDRESSES,
    REPORT_COLUMNS,
    REPORT_TEXTS,
)
from vedette.store.engine.client import Engine
from vedette.store.sql.column_lists import quoted, readable, readable_array

REPORT_ROW: Final = ", ".join(
    [
        *(quoted(column.name) for column in REPORT_COLUMNS),
        *map(quoted, REPORT_TEXTS),
        *(f"{readable_array(name, 'ip')} AS {quoted(name)}" for name in REPORT_ADDRESSES),
    ]
)
"""Every column of a report."""

_INDICATOR: Final = ", ".join(
    f"{readable(quoted(one.name), one.type)} AS {quoted(one.name)}"
    if one.type == "ip"
    else quoted(one.name)
    for one in INDICATOR_COLUMNS
)


_BY_TYPE: Final = {
    **{"md5": "md5", "sha256": "sha256", "dns": "domain", "ipv4": "ipaddr", "ipv6": "ipv6addr"},
    **{"ja3": "ja3", "ja3s": "ja3s", "query": "query"},
}
"""Maps indicator type to the list of a report with its indicators of that type."""


class KnownReport(Struct, frozen=True, gc=False):
    """The values of a stored report that a synchronization compares."""

    report_id: str
    create_us: int
    update_us: int
    is_ignored: bool
    is_deleted: bool
    ioc_count: int
    content: int
    sync: int


def known_reports(
    engine: Engine, feed_id: int, report_ids: Collection[str]
) -> dict[str, KnownReport]:
    """Returns the stored reports among `report_ids`, including deleted ones."""
    found = engine.query(
        "SELECT report_id, create_time, update_time, is_ignored, is_deleted, ioc_count, content, "
        "sync FROM threat_report FINAL "
        "WHERE feed_id = {feed_id:UInt32} AND report_id IN {ids:Array(String)}",
        {"feed_id": feed_id, "ids": list(report_ids)},
    )
    return {
        row[0]: KnownReport(row[0], row[1], row[2], bool(row[3]), bool(row[4]), *row[5:])
        for row in found.rows
    }


def report(engine: Engine, feed_id: int, report_id: str) -> dict[str, Any] | None:
    """Returns one report; None if it does not exist or is deleted."""
    found = engine.query(
        f"SELECT {REPORT_ROW} FROM threat_report FINAL WHERE feed_id = {{feed_id:UInt32}} "
        "AND report_id = {report_id:String} AND NOT is_deleted",
        {"feed_id": feed_id, "report_id": report_id},
    ).dicts()
    return found[0] if found else None


def existing_reports(
    engine: Engine, reports: Sequence[tuple[int, str]]
) -> frozenset[tuple[int, str]]:
    """Returns the reports, by feed and report id, that are stored and not deleted."""
    found: set[tuple[int, str]] = set()
    for start in range(0, len(reports), REPORTS_CHANGED_BATCH):
        some = list(reports[start : start + REPORTS_CHANGED_BATCH])
        rows = engine.query(
            "SELECT feed_id, report_id FROM threat_report FINAL "
            "WHERE (feed_id, report_id) IN {reports:Array(Tuple(UInt32, String))} "
            "AND NOT is_deleted",
            {"reports": some},
        ).rows
        found.update((row[0], row[1]) for row in rows)
    return frozenset(found)


def reports_after(engine: Engine, feed_id: int, after: str, rows: int) -> list[dict[str, Any]]:
    """Returns the next reports of a feed after an id, by id; `after` "" starts with the first."""
    return engine.query(
        f"SELECT {REPORT_ROW} FROM threat_report FINAL WHERE feed_id = {{feed_id:UInt32}} "
        "AND report_id > {after:String} AND NOT is_deleted ORDER BY report_id LIMIT {rows:UInt32}",
        {"feed_id": feed_id, "after": after, "rows": rows},
    ).dicts()


def report_counts(engine: Engine) -> dict[int, tuple[int, int]]:
    """Maps feed id to (reports, indicators) for feeds that have any."""
    found = engine.query(
        "SELECT feed_id, count(), sum(ioc_count) FROM threat_report FINAL "
        "WHERE NOT is_deleted GROUP BY feed_id"
    )
    return {row[0]: (row[1], row[2]) for row in found.rows}


def indicator_types(engine: Engine) -> dict[int, dict[str, int]]:
    """Maps feed id to the number of its indicators by type, without types that it lacks."""
    sums = ", ".join(f"sum(length({quoted(column)}))" for column in _BY_TYPE.values())
    found = engine.query(
        f"SELECT feed_id, {sums} FROM threat_report FINAL WHERE NOT is_deleted GROUP BY feed_id"
    )
    return {
        feed_id: {name: count for name, count in zip(_BY_TYPE, counts, strict=True) if count}
        for feed_id, *counts in found.rows
    }


def stored_feeds(engine: Engine) -> set[int]:
    """Returns the feeds with reports or indicators that are not deleted."""
    found = engine.query(
        "SELECT feed_id FROM threat_report FINAL WHERE NOT is_deleted GROUP BY feed_id "
        "UNION DISTINCT SELECT feed_id FROM indicator FINAL WHERE NOT is_deleted GROUP BY feed_id"
    )
    return {row[0] for row in found.rows}


def indicators_of(
    engine: Engine, feed_id: int, report_ids: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yields all indicators of some reports, including deleted ones."""
    names = [column.name for column in INDICATOR_COLUMNS]
    with engine.stream(
        f"SELECT {_INDICATOR} FROM indicator FINAL "
        "WHERE feed_id = {feed_id:UInt32} AND report_id IN {ids:Array(String)}",
        {"feed_id": feed_id, "ids": list(report_ids)},
    ) as blocks:
        for block in blocks:
            for row in block:
                yield dict(zip(names, row, strict=True))


def latest_version(engine: Engine) -> int:
    """Returns the greatest version of any row; 0 without rows."""
    found: int = engine.query(
        "SELECT greatest((SELECT max(version) FROM threat_report), "
        "(SELECT max(version) FROM indicator))"
    ).rows[0][0]
    return found
