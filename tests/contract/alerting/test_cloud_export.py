"""Export by search v7 while alerts are written: none is missed, none comes twice, by both ways of
paging (docs/cloud-alerts.md#export)."""

import random
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.contract.alerting.conftest import NOW_US
from tests.contract.alerting.detections import detection
from tests.support.forms import in_form
from vedette.alerting.detection_writer import ALERT_SETTLED_US, DetectionWriter
from vedette.clock import DrivenClock
from vedette.model.findings.detection import Source
from vedette.model.scope import EVERYTHING, Scope
from vedette.query.compile.condition import Condition
from vedette.search.alerts import cloud_search
from vedette.search.alerts.cloud_search import AlertFilter, AlertPage
from vedette.settings import Settings
from vedette.state.db.database import Database
from vedette.state.policy.alert_workflow import extras
from vedette.store.engine.client import Engine
from vedette.store.read.detection.alerts import alerts_by_id, search_alerts
from vedette.store.read.detection.cloud_alerts import AlertSpan, FieldFilter, oldest_alerts
from vedette.web.alerts.cloud_alert_json import cloud_alert_body

SECOND_US = 1_000_000
LAG_US = 60 * SECOND_US
SETTINGS = Settings()
Between = Callable[[], None]


def page(
    engine: Engine, span: AlertSpan, rows: int, now_us: int, *filters: FieldFilter
) -> AlertPage:
    return cloud_search.search(
        engine,
        EVERYTHING,
        AlertFilter(span, filters),
        (("backend_timestamp", False),),
        SETTINGS,
        now_us,
        start=0,
        rows=rows,
    )


def next_millisecond(
    engine: Engine, span: AlertSpan, rows: int, now_us: int, between: Between
) -> Iterator[str]:
    """A full page goes on a millisecond after its last alert."""
    while True:
        found = page(engine, span, rows, now_us).rows
        yield from (row["id"] for row in found)
        if len(found) < rows:
            return
        span = AlertSpan(found[-1]["created_time"] // 1_000 * 1_000 + 1_000, span.to_us)
        between()


def same_millisecond(
    engine: Engine, span: AlertSpan, rows: int, now_us: int, between: Between
) -> Iterator[str]:
    """A full page goes on at its last alert, and what was there already is left out."""
    seen: set[str] = set()
    while True:
        found = page(engine, span, rows, now_us).rows
        yield from (row["id"] for row in found if row["id"] not in seen)
        if len(found) < rows:
            return
        seen = {row["id"] for row in found}
        span = AlertSpan(found[-1]["created_time"] // 1_000 * 1_000, span.to_us)
        between()


@pytest.mark.parametrize("way", [next_millisecond, same_millisecond])
@pytest.mark.parametrize("seed", range(in_form(1, 2)))
def test_an_export_misses_none_and_doubles_none(
    engine: Engine, database: Database, clock: DrivenClock, way: object, seed: int
) -> None:
    draw = random.Random(seed)
    writer = DetectionWriter(engine, database, clock)
    written: list[str] = []
    exported: list[str] = []
    numbers = iter(range(1_000_000))

    def write(least: int = 0, most: int = 3) -> None:
        """Between two pages fewer than a page has, on average: an export has to end."""
        found = [
            detection(number, source=Source("rule", f"r-{number}"), seq=number + 1)
            for number in (next(numbers) for _ in range(draw.randint(least, most)))
        ]
        writer.write(found)
        written.extend(one.id for one in found)
        clock.advance(draw.randrange(0, 20))

    begin_us = NOW_US - SECOND_US
    for cycle in range(12):
        write(1, 40)
        end_us = clock.now_us() - LAG_US if cycle < 11 else clock.now_us() + LAG_US
        if end_us <= begin_us:
            continue
        rows = draw.randrange(4, 12)
        exported += way(engine, AlertSpan(begin_us, end_us), rows, clock.now_us(), write)  # type: ignore[operator]
        begin_us = end_us
    remaining = page(engine, AlertSpan(begin_us), 10_000, clock.now_us())
    exported += [row["id"] for row in remaining.rows]
    assert len(exported) == len(set(exported))
    assert set(exported) == set(written)


class Interrupted:
    """An engine that something else writes to after a page's keys were read."""

    def __init__(self, engine: Engine, between: Between) -> None:
        self._engine = engine
        self._between = between

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def query(self, sql: str, *arguments: Any, **options: Any) -> Any:
        found = self._engine.query(sql, *arguments, **options)
        if sql.startswith(("SELECT created_time, id", "SELECT DISTINCT created_time, id")):
            self._between()
        return found


def test_an_alert_that_changes_while_its_page_is_read_is_not_left_out(
    engine: Engine, database: Database, clock: DrivenClock
) -> None:
    writer = DetectionWriter(engine, database, clock)
    writer.write([detection(number, seq=1) for number in range(3)])

    commits = count(2)

    def change() -> None:
        clock.advance(1)
        seq = next(commits)
        writer.write([detection(1, seq=seq, time_us=NOW_US + seq * SECOND_US)])
        engine.command(f"OPTIMIZE TABLE {engine.capabilities.storage('alert')} FINAL")

    found: Any = Interrupted(engine, change)
    assert len(page(found, AlertSpan(0), 10, clock.now_us()).rows) == 3
    where = Condition("1", {})
    assert len(oldest_alerts(found, where, EVERYTHING, 10)) == 3
    shown = search_alerts(found, where, EVERYTHING, (("created_time", True),))
    assert (shown.total, len(shown.rows)) == (3, 3)
    ids = [row["id"] for row in shown.rows]
    assert alerts_by_id(found, ids).keys() == set(ids)


def test_every_alert_has_a_millisecond_of_its_own(
    engine: Engine, database: Database, clock: DrivenClock
) -> None:
    for first in (0, 100):
        DetectionWriter(engine, database, clock).write(
            [detection(first + number, seq=first + number + 1) for number in range(100)]
        )
    rows = page(engine, AlertSpan(0), 10_000, clock.now_us()).rows
    times = [row["created_time"] for row in rows]
    assert len({time // 1_000 for time in times}) == 200
    assert all(time % 1_000 == 0 for time in times)


def test_what_a_record_shows_is_settled_after_a_quarter_of_an_hour(
    engine: Engine, database: Database, clock: DrivenClock
) -> None:
    writer = DetectionWriter(engine, database, clock)

    def record() -> dict[str, object]:
        (row,) = page(engine, AlertSpan(0), 10, clock.now_us()).rows
        return cloud_alert_body(row, "ORG", extras(database, [row["id"]]))

    writer.write([detection(1, seq=1)])
    first = record()
    clock.advance(ALERT_SETTLED_US // 2 / SECOND_US)
    writer.write([detection(1, seq=2, time_us=NOW_US + 5 * SECOND_US)])
    updated = record()
    assert updated["last_event_timestamp"] != first["last_event_timestamp"]
    assert updated["backend_update_timestamp"] > first["backend_update_timestamp"]  # type: ignore[operator]
    assert updated["backend_timestamp"] == first["backend_timestamp"]
    for number in (3, 4):
        clock.advance(ALERT_SETTLED_US / SECOND_US)
        writer.write([detection(1, seq=number, time_us=clock.now_us())])
        assert record() == updated


def test_fields_filter_sort_and_count(
    engine: Engine, database: Database, clock: DrivenClock
) -> None:
    writer = DetectionWriter(engine, database, clock)
    writer.write(
        [
            detection(1, seq=1, severity=91, title="B"),
            detection(2, seq=2, severity=5, title="a", sensor_id=3),
            detection(3, seq=3, severity=50, source=Source("watchlist", "4"), source_name="W"),
        ]
    )
    everything = AlertSpan(0)

    def titles(*filters: FieldFilter, sorts: tuple[tuple[str, bool], ...] = ()) -> list[int]:
        found = cloud_search.search(
            engine,
            EVERYTHING,
            AlertFilter(everything, filters),
            sorts or (("severity", False),),
            SETTINGS,
            clock.now_us(),
            start=0,
            rows=10,
        )
        return [row["alert_severity"] // 1_000 for row in found.rows]

    assert titles() == [5, 50, 91]
    assert titles(sorts=(("type", False), ("severity", True))) == [91, 5, 50]
    assert titles(FieldFilter("severity", at_least=6)) == [91]
    assert titles(FieldFilter("severity", (1, 5))) == [5, 50]
    assert titles(FieldFilter("device_name", ("WS-3.corp.TEST",))) == [5]
    assert titles(FieldFilter("watchlists_id", ("4",))) == [50]
    assert titles(FieldFilter("type", ("watchlist",), excludes=True)) == [5, 91]
    assert titles(FieldFilter("workflow_status", ("OPEN",), excludes=True)) == []
    first_us = NOW_US // 1_000 * 1_000
    assert (
        titles(FieldFilter("backend_update_timestamp", span=AlertSpan(first_us, first_us + 1)))
        != []
    )
    inside = Scope(frozenset({3}))
    counts = cloud_search.facets(
        engine, inside, AlertFilter(everything), ["device_id"], SETTINGS, clock.now_us(), rows=0
    )
    assert counts == {"device_id": [("3", 1)]}
