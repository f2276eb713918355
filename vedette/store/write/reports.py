"""Writes threat reports and indicators of feeds. Rows are never modified: a newer version of a row
replaces it, and a deletion is a version with a flag. Writing the same row again changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from vedette.model.threat.report_columns import (
    INDICATOR_COLUMNS,
    REPORT_ADDRESSES,
    REPORT_COLUMNS,
    REPORT_TEXTS,
)
from vedette.store.engine.arrow_arrays import columns_of
from vedette.store.engine.client import Engine

Row = Mapping[str, Any]

_TEXTS: Final = pa.list_(pa.string())
_ADDRESSES: Final = pa.list_(pa.binary(16))

_AND_OLD: Final = ", fromUnixTimestamp64Micro(0, 'UTC') AS update_time"
"""A report that was deleted because its feed no longer lists it counts as new when it returns."""

_OF_FEED: Final = "feed_id = {feed_id:UInt32}"


def write_reports(engine: Engine, rows: Sequence[Row]) -> None:
    """Writes rows with the columns of `REPORT_COLUMNS` and lists; durable on return."""
    if not rows:
        return
    columns = columns_of(rows, REPORT_COLUMNS)
    for names, kind in ((REPORT_TEXTS, _TEXTS), (REPORT_ADDRESSES, _ADDRESSES)):
        columns |= {name: pa.array([row[name] for row in rows], kind) for name in names}
    engine.insert_arrow("threat_report", pa.table(columns))


def write_indicators(engine: Engine, rows: Sequence[Row]) -> None:
    """Writes rows with the columns of `INDICATOR_COLUMNS`; durable on return."""
    if rows:
        engine.insert_arrow("indicator", pa.table(columns_of(rows, INDICATOR_COLUMNS)))


def touch_reports(
    engine: Engine, feed_id: int, report_ids: Collection[str], sync: int, version: int
) -> None:
    """Records that a synchronization saw unchanged reports."""
    if report_ids:
        changes = "{sync:UInt64} AS sync"
        which = f"{_OF_FEED} AND report_id IN {{ids:Array(String)}}"
        params = {"sync": sync, "version": version, "feed_id": feed_id, "ids": list(report_ids)}
        engine.command(_rewritten("threat_report", changes, which), params)


def delete_unseen(engine: Engine, feed_id: int, sync: int, version: int) -> int:
    """Deletes the reports of a feed that a full synchronization did not see; returns their
    number."""
    unseen = f"{_OF_FEED} AND NOT is_deleted AND sync < {{sync:UInt64}}"
    params = {"feed_id": feed_id, "sync": sync, "version": version}
    counted = engine.query(f"SELECT count() FROM threat_report FINAL WHERE {unseen}", params)
    count: int = counted.rows[0][0]
    if count:
        ids = f"SELECT report_id FROM threat_report FINAL WHERE {unseen}"
        _delete(engine, f"{_OF_FEED} AND NOT is_deleted AND report_id IN ({ids})", unseen, params)
    return count


def delete_feed(engine: Engine, feed_id: int, version: int) -> None:
    """Deletes all reports and indicators of a feed."""
    all_of_it = f"{_OF_FEED} AND NOT is_deleted"
    _delete(engine, all_of_it, all_of_it, {"feed_id": feed_id, "version": version})


def name_reports(engine: Engine, feed_id: int, name: str, category: str, version: int) -> None:
    """Sets the new name and category of a feed in its reports."""
    changes = "{name:String} AS feed_name, {category:String} AS feed_category"
    which = f"{_OF_FEED} AND (feed_name != {{name:String}} OR feed_category != {{category:String}})"
    params = {"name": name, "category": category, "version": version, "feed_id": feed_id}
    engine.command(_rewritten("threat_report", changes, which), params)


def mark_ignored(
    engine: Engine, reports: Sequence[tuple[int, str]], version: int, *, ignored: bool
) -> None:
    """Sets `is_ignored` of reports, by feed and report id."""
    if reports:
        which = (
            "(feed_id, report_id) IN {reports:Array(Tuple(UInt32, String))} "
            "AND is_ignored != {ignored:UInt8}"
        )
        params = {"ignored": int(ignored), "version": version, "reports": list(reports)}
        engine.command(_rewritten("threat_report", "{ignored:UInt8} AS is_ignored", which), params)


def _delete(engine: Engine, indicators: str, reports: str, params: Mapping[str, object]) -> None:
    """Deletes indicators first: a report is deleted once none of its indicators are left."""
    engine.command(_rewritten("indicator", "1 AS is_deleted", indicators), params)
    engine.command(_rewritten("threat_report", f"1 AS is_deleted{_AND_OLD}", reports), params)


def _rewritten(table: str, changes: str, which: str) -> str:
    """Returns a statement that writes rows again with other values. The rows are selected in a
    subquery, because a condition would see the new values."""
    return (
        f"INSERT INTO {table} SELECT * REPLACE({changes}, {{version:UInt64}} AS version) "
        f"FROM (SELECT * FROM {table} FINAL WHERE {which})"
    )
