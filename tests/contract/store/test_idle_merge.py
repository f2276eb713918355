"""A pause in inserts merges the last inserted parts, and no others."""

from collections import Counter

from tests.contract.alerting.detections import NOW_US, detection
from tests.contract.store.rows import HOUR_MS, file, partial, store
from tests.contract.store.test_index_build import total
from vedette.alerting.alert_rows import Context, new_alert
from vedette.model.findings.alert import AlertRow
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.partitions.lifecycle import open_partition
from vedette.store.read.detection.alerts import alerts_by_id
from vedette.store.write.alerts import write_alerts
from vedette.store.write.idle_merge import merge_alerts_when_idle, merge_when_idle

LONG_S = 3_600.0
INSERTS = 5
FAST = 1e12
"""Bytes a second that keep nothing from being merged."""


def fill(engine: ClickHouseEngine, inserts: int = INSERTS) -> None:
    open_partition(engine, HOUR_MS)
    for number in range(1, inserts + 1):
        store(engine, partial(number, file(rf"C:\Temp\{number}.txt")))


def levels(engine: ClickHouseEngine) -> list[int]:
    """Returns the merge level of each part."""
    found = engine.query(
        "SELECT level FROM system.parts WHERE active AND database = {database:String} "
        "AND table = {segment:String} ORDER BY name",
        {"database": engine.database, "segment": engine.capabilities.storage("segment")},
    )
    return [row[0] for row in found.rows]


def test_parts_are_merged_after_a_pause_with_the_same_answers(
    contract_engine: ClickHouseEngine,
) -> None:
    fill(contract_engine)
    assert total(contract_engine, "filemod:.txt") == INSERTS
    while merge_when_idle(contract_engine, 0) is not None:
        pass
    assert levels(contract_engine).count(0) < 2
    assert total(contract_engine, "filemod:.txt") == INSERTS


def test_nothing_is_merged_as_long_as_something_is_inserted(engine: ClickHouseEngine) -> None:
    fill(engine)
    assert merge_when_idle(engine, LONG_S) is None


def test_one_part_is_left_alone(engine: ClickHouseEngine) -> None:
    fill(engine, 1)
    assert merge_when_idle(engine, 0) is None
    assert levels(engine) == [0]


def alert_parts(engine: ClickHouseEngine) -> int:
    found = engine.query(
        "SELECT count() FROM system.parts WHERE active AND database = {database:String} "
        "AND table = {alert:String}",
        {"database": engine.database, "alert": engine.capabilities.storage("alert")},
    )
    return int(found.rows[0][0])


def fill_alerts(engine: ClickHouseEngine, versions: int) -> list[AlertRow]:
    """Alerts whose newest versions are in parts of their own."""
    rows = [new_alert([detection(number)], Context(), NOW_US + number) for number in range(6)]
    write_alerts(engine, rows)
    for row in rows[:versions]:
        row |= {"version": row["version"] + 1, "status": "Resolved"}
        write_alerts(engine, [row])
    return rows


def test_alerts_are_one_part_after_a_pause_with_the_same_newest_versions(
    contract_engine: ClickHouseEngine,
) -> None:
    rows = fill_alerts(contract_engine, 4)
    before = alerts_by_id(contract_engine, [row["id"] for row in rows])
    assert merge_alerts_when_idle(contract_engine, 0, FAST)
    assert alerts_by_id(contract_engine, [row["id"] for row in rows]) == before
    assert Counter(row["status"] for row in before.values()) == {"Resolved": 4, "Unresolved": 2}
    assert not merge_alerts_when_idle(contract_engine, 0, FAST)


def test_alerts_are_left_alone_while_they_change_and_so_soon_after_a_merge(
    engine: ClickHouseEngine,
) -> None:
    assert not merge_alerts_when_idle(engine, 0, FAST)
    fill_alerts(engine, 0)
    assert not merge_alerts_when_idle(engine, 0, FAST)  # one part
    fill_alerts(engine, 4)
    assert not merge_alerts_when_idle(engine, LONG_S, FAST)
    assert not merge_alerts_when_idle(engine, 0, 0.001)
    assert merge_alerts_when_idle(engine, 0, FAST)
    assert alert_parts(engine) == 1
