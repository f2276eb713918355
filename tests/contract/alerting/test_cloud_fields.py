"""Every member of an alert's record is a criterion and an exclusion of search v7."""

from datetime import datetime
from typing import Any

from tests.contract.alerting.detections import detection
from vedette.alerting.detection_writer import DetectionWriter
from vedette.clock import DrivenClock
from vedette.model.findings.detection import Source
from vedette.model.scope import EVERYTHING
from vedette.search.alerts import cloud_search
from vedette.search.alerts.cloud_search import AlertFilter
from vedette.settings import Settings
from vedette.state.db.database import Database
from vedette.state.policy.alert_workflow import extras
from vedette.store.engine.client import Engine
from vedette.store.read.detection.cloud_alerts import AlertSpan, FieldFilter
from vedette.web.alerts.cloud_alert_json import cloud_alert_body

PARTS = {
    "watchlists": ("watchlists_id", "watchlists.id", "watchlists_name", "watchlists.name"),
    "workflow": ("workflow_status", "workflow.status"),
    "determination": ("determination_value",),
}
"""Members that are objects, and what their parts are called."""

CONSTANT = frozenset({"org_key"})
"""In the path of every request."""


def found(engine: Engine, clock: DrivenClock, *filters: FieldFilter) -> list[Any]:
    wanted = AlertFilter(AlertSpan(0), filters)
    page = cloud_search.search(
        engine, EVERYTHING, wanted, (), Settings(), clock.now_us(), start=0, rows=100
    )
    return list(page.rows)


def criteria(record: dict[str, Any]) -> list[FieldFilter]:
    """One for each member that has a value."""
    made = []
    for name, value in record.items():
        if name in CONSTANT or value in ("", None, []):
            continue
        if name == "watchlists":
            values = [value[0]["id"], value[0]["id"], value[0]["name"], value[0]["name"]]
            made += [FieldFilter(*pair) for pair in zip(PARTS[name], zip(values), strict=True)]
        elif name in PARTS:
            (first,) = {value["status"]} if name == "workflow" else {value["value"]}
            made += [FieldFilter(one, (str(first),)) for one in PARTS[name]]
        elif name.endswith("timestamp") or name == "create_time":
            at_us = int(datetime.fromisoformat(value).timestamp() * 1_000_000)
            made.append(FieldFilter(name, span=AlertSpan(at_us, at_us + 1_000)))
        else:
            made.append(FieldFilter(name, tuple(value) if isinstance(value, list) else (value,)))
    return made


def test_every_member_of_a_record_selects_and_excludes_it(
    engine: Engine, database: Database, clock: DrivenClock
) -> None:
    DetectionWriter(engine, database, clock).write(
        [
            detection(1, seq=1, techniques=("T1059.001",), tags=("attack.execution",)),
            detection(2, seq=2, source=Source("watchlist", "7"), source_name="W", sensor_id=3),
            detection(
                3,
                seq=3,
                source=Source("feed", "9"),
                source_name="F",
                report_id="r-1",
                ioc_type="md5",
                ioc_value="a" * 32,
                description="what it is",
                link="https://feed.example/r-1",
            ),
        ]
    )
    rows = found(engine, clock)
    assert len(rows) == 3
    kept = extras(database, [row["id"] for row in rows])
    seen: set[str] = set()
    for row in rows:
        record = cloud_alert_body(row, "ORG", kept)
        for one in criteria(record):
            seen.add(one.field)
            ids = {some["id"] for some in found(engine, clock, one)}
            assert row["id"] in ids, one
            other = FieldFilter(one.field, one.values, one.span, excludes=True)
            left = {some["id"] for some in found(engine, clock, other)}
            assert row["id"] not in left, other
            assert len(ids) + len(left) == 3, one
    members = set(record) - CONSTANT - set(PARTS)
    # No telemetry lies behind these alerts, and nobody has touched them.
    unknown = {name for name in members if name.startswith(("process_", "parent_"))}
    unknown |= {"device_username", "device_external_ip", "user_update_timestamp"}
    assert members - seen <= unknown
