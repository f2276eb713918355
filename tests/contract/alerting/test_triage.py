"""People change alerts: one, or all that a query selects at once, without losing a change."""

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from tests.contract.alerting.detections import NOW_US, detection
from tests.support.indexed import STORES
from tests.support.two_shards import SHARD_MAP, router
from vedette.alerting.detection_writer import DetectionWriter
from vedette.alerting.triage import (
    Analyst,
    Wanted,
    change_alert,
    change_alerts_at_once,
    ids_condition,
)
from vedette.clock import DrivenClock
from vedette.errors import NotFoundError, UnavailableError
from vedette.model.alert_fields import ALERT
from vedette.model.findings.alert import HistoryEntry
from vedette.model.findings.detection import Detection, Source
from vedette.model.host import MoveStep, SensorMove, ShardView
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import Condition, check, parse
from vedette.query.compile.alerts_sql import compile_alerts
from vedette.search.alerts.host_risk import RISK_DAYS_SHOWN, host_risk, risk_by_day
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import Search
from vedette.state.db.author import Author, acting_as
from vedette.state.db.database import Database
from vedette.state.policy import alert_audit
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.engine.shard_routing import ShardRouter
from vedette.store.read.detection.alerts import alerts_by_id, count_alerts
from vedette.store.schema.tables import SHARDED
from vedette.store.write.alert_retention import delete_alerts_before
from vedette.web.alerts.alert_changes_json import ALERT_IDS_MAX

BOB = Analyst(5, "bob", NOW_US + 1_000_000)
DAY_US = 24 * 3600 * 1_000_000


@pytest.fixture
def writer(
    contract_engine: ClickHouseEngine, database: Database, clock: DrivenClock
) -> DetectionWriter:
    return DetectionWriter(contract_engine, database, clock)


def query(text: str) -> Condition:
    return compile_alerts(check(parse(text, ALERT), ALERT, now_us=NOW_US))


def feed_hit(number: int, report: str, sensor_id: int = 1) -> Detection:
    feed = Source("feed", "7")
    return detection(number, sensor_id=sensor_id, source=feed, report_id=report)


def test_a_change_is_kept_with_who_made_it(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    found = detection()
    writer.write([found])
    alert = change_alert(
        contract_engine,
        database,
        EVERYTHING,
        found.id,
        Wanted(status="Resolved", assigned_to="bob", notes="<b>done</b>"),
        BOB,
    )
    assert (alert["status"], alert["assigned_to"]) == ("Resolved", "bob")
    assert alert["resolved_time"] == BOB.time_us
    (entry,) = alert["history"]
    assert msgspec.json.decode(entry, type=HistoryEntry) == HistoryEntry(
        BOB.time_us, 5, "bob", "Resolved", "bob", "<b>done</b>"
    )
    again = change_alert(
        contract_engine, database, EVERYTHING, found.id, Wanted(status="Resolved"), BOB
    )
    assert again == alert
    reopened = change_alert(
        contract_engine, database, EVERYTHING, found.id, Wanted(status="In Progress"), BOB
    )
    assert reopened["resolved_time"] == 0
    assert reopened["event"] == alert["event"]
    assert reopened["matched"] == alert["matched"]
    assert len(reopened["history"]) == 2


def test_a_change_of_one_alert_is_in_the_audit_log_once(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    found = detection()
    writer.write([found])
    wanted = Wanted(status="Resolved", notes="seen")
    with acting_as(Author("user", "bob", "192.0.2.7")):
        for _ in range(2):
            change_alert(contract_engine, database, EVERYTHING, found.id, wanted, BOB)
        with pytest.raises(NotFoundError):
            change_alert(contract_engine, database, EVERYTHING, "0" * 32, wanted, BOB)
    _, entries = audit_trail.search(database, Search(kind="alert"))
    (entry,) = entries
    assert (entry.author, entry.address, entry.target) == ("bob", "192.0.2.7", found.id)
    assert entry.before == {"status": "Unresolved", "notes": ""}
    assert entry.after == {"status": "Resolved", "notes": "seen"}


def test_closing_another_way_keeps_when_it_was_closed(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    found = detection()
    writer.write([found])
    later = Analyst(5, "bob", BOB.time_us + 9)
    for status, by in (("Resolved", BOB), ("False Positive", later)):
        alert = change_alert(
            contract_engine, database, EVERYTHING, found.id, Wanted(status=status), by
        )
    assert (alert["status"], alert["resolved_time"]) == ("False Positive", BOB.time_us)


def test_nobody_changes_an_alert_outside_of_their_scope(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    mine, other = detection(1), detection(1, sensor_id=3)
    writer.write([mine, other])
    before = alerts_by_id(contract_engine, [other.id])
    scope = Scope(frozenset({1, 2}))
    wanted = Wanted(status="Resolved")
    with pytest.raises(NotFoundError):
        change_alert(contract_engine, database, scope, other.id, wanted, BOB)
    for where in (query(""), ids_condition([mine.id, other.id])):
        change_alerts_at_once(contract_engine, database, scope, where, "x", wanted, BOB)
    assert alerts_by_id(contract_engine, [other.id]) == before
    assert alerts_by_id(contract_engine, [mine.id])[mine.id]["status"] == "Resolved"


def test_a_bulk_change_counts_exactly_what_it_changed_and_is_audited(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    batch = [detection(number) for number in range(1, 31)]
    writer.write(batch)
    wanted = Wanted(status="False Positive", assigned_to="bob")
    ids = ids_condition([one.id for one in batch[:10]] + ["0" * 32])
    change = (contract_engine, database, EVERYTHING)
    assert change_alerts_at_once(*change, ids, "11 ids", wanted, BOB).changed == 10
    assert (
        change_alerts_at_once(*change, query("sensor_id:1"), "sensor_id:1", wanted, BOB).changed
        == 20
    )
    assert change_alerts_at_once(*change, query(""), "q=", wanted, BOB).changed == 0
    assert change_alerts_at_once(*change, query("hostname:nobody"), "-", wanted, BOB).changed == 0
    with database.reading() as connection:
        audit = alert_audit.newest(connection)
    assert [one.changed for one in audit] == [0, 0, 20, 10]
    assert (audit[-1].username, audit[-1].selected) == ("bob", "11 ids")
    assert '"False Positive"' in audit[-1].changes
    assert count_alerts(contract_engine, query("-status:unresolved"), EVERYTHING) == 30


def test_an_ignored_report_makes_no_more_alerts(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    writer.write([feed_hit(1, "rep"), feed_hit(2, "other"), detection(3)])
    wanted = Wanted(report_ignored=True, status="False Positive")
    where = query("report_id:rep")
    change = (contract_engine, database, EVERYTHING, where, "x")
    assert change_alerts_at_once(*change, wanted, BOB).changed == 1
    assert count_alerts(contract_engine, query("report_ignored:true"), EVERYTHING) == 1
    later = [feed_hit(5, "rep", 2), feed_hit(5, "other", 2)]
    written = writer.write(later)
    assert (written.alerts, written.of_ignored_reports) == (1, 1)
    assert change_alerts_at_once(*change, Wanted(report_ignored=False), BOB).changed == 1
    assert writer.write(later).alerts == 1


def test_simultaneous_changes_and_detections_all_stay(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    found = detection()
    writer.write([found])

    def change(number: int) -> None:
        wanted = Wanted(notes=f"note {number}")
        by = Analyst(number, f"user{number}", BOB.time_us)
        change_alert(contract_engine, database, EVERYTHING, found.id, wanted, by)

    with ThreadPoolExecutor(4) as threads:
        changes = [threads.submit(change, number) for number in range(8)]
        batches = [threads.submit(writer.write, [detection(seq=20 + n)]) for n in range(4)]
        for change_done in changes:
            change_done.result()
        for batch_done in batches:
            batch_done.result()
    alert = alerts_by_id(contract_engine, [found.id])[found.id]
    users = {msgspec.json.decode(one, type=HistoryEntry).user_id for one in alert["history"]}
    assert users == set(range(8))
    # A commit whose batch came after a later one is not counted again; every other is.
    assert 2 <= alert["count"] <= 5


def test_a_history_keeps_the_newest_changes(
    contract_engine: ClickHouseEngine,
    database: Database,
    writer: DetectionWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vedette.store.write.alert_changes.ALERT_HISTORY_MAX", 3)
    writer.write([detection()])
    change = (contract_engine, database, EVERYTHING, query(""), "all")
    for number in range(5):
        assert change_alerts_at_once(*change, Wanted(notes=f"note {number}"), BOB).changed == 1
    alert = alerts_by_id(contract_engine, [detection().id])[detection().id]
    entries = [msgspec.json.decode(one, type=HistoryEntry) for one in alert["history"]]
    assert [entry.notes for entry in entries] == ["note 2", "note 3", "note 4"]


def test_a_hundred_thousand_ids_are_one_statement(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    found = detection()
    writer.write([found])
    ids = [f"{number:032x}" for number in range(ALERT_IDS_MAX - 1)]
    done = change_alerts_at_once(
        contract_engine,
        database,
        EVERYTHING,
        ids_condition([*ids, found.id]),
        "many",
        Wanted(status="Resolved"),
        BOB,
    )
    assert done.changed == 1


def test_the_risk_of_a_host_rises_with_its_open_alerts_and_decays(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    writer.write(
        [detection(1, severity=100), detection(2, severity=100), detection(3, sensor_id=2)]
    )
    both = host_risk(contract_engine, EVERYTHING, 1, NOW_US)
    assert (both.score, both.open_alerts) == (86.5, 2)
    change_alerts_at_once(
        contract_engine,
        database,
        EVERYTHING,
        ids_condition([detection(2).id]),
        "one",
        Wanted(status="Resolved"),
        BOB,
    )
    fresh = host_risk(contract_engine, EVERYTHING, 1, NOW_US)
    assert (fresh.score, fresh.open_alerts) == (63.2, 1)
    old = host_risk(contract_engine, EVERYTHING, 1, NOW_US + 7 * DAY_US)
    assert old.score == 39.3
    assert host_risk(contract_engine, EVERYTHING, 9, NOW_US).score == 0.0
    assert host_risk(contract_engine, Scope(frozenset({2})), 1, NOW_US).open_alerts == 0


def test_what_the_risk_was_is_told_by_the_day_until_now(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter
) -> None:
    writer.write([detection(1, severity=100), detection(2, severity=100)])
    now_us = NOW_US  # the second is made a millisecond later
    (today, now), (yesterday, none) = risk_by_day(contract_engine, EVERYTHING, 1, now_us)[:-3:-1]
    assert (str(today), now, str(yesterday), none) == ("2023-11-14", 86.5, "2023-11-13", 0.0)
    wanted, only = Wanted(status="Resolved"), ids_condition([detection(2).id])
    change_alerts_at_once(contract_engine, database, EVERYTHING, only, "one", wanted, BOB)
    later_us = now_us + 2 * DAY_US
    risks = [score for _, score in risk_by_day(contract_engine, EVERYTHING, 1, later_us)]
    assert risks[:-3] == [0.0] * (RISK_DAYS_SHOWN - 3)
    assert risks[-1] == host_risk(contract_engine, EVERYTHING, 1, later_us).score
    assert risks[-1] < risks[-2] < risks[-3] < 63.2  # the other is closed
    assert {score for _, score in risk_by_day(contract_engine, EVERYTHING, 9, now_us)} == {0.0}
    hidden = risk_by_day(contract_engine, Scope(frozenset({2})), 1, now_us)
    assert {score for _, score in hidden} == {0.0}


def test_retention_deletes_what_nothing_happened_to_for_long(
    contract_engine: ClickHouseEngine,
    database: Database,
    writer: DetectionWriter,
    clock: DrivenClock,
) -> None:
    old, kept = detection(1), detection(2)
    writer.write([old, kept])
    clock.advance(20 * 24 * 3600)
    writer.write([detection(2, seq=30), detection(3)])
    delete_alerts_before(contract_engine, clock.now_us() - 10 * DAY_US)
    found = alerts_by_id(contract_engine, [old.id, kept.id, detection(3).id])
    assert found.keys() == {kept.id, detection(3).id}
    assert found[kept.id]["count"] == 2
    assert found[kept.id]["created_time"] // 1_000_000 == NOW_US // 1_000_000


@pytest.mark.parametrize("step", ["copy", "swap", "delete"])
@pytest.mark.parametrize(
    "contract_engine", [STORES["two_shards"]], ids=["two_shards"], indirect=True
)
def test_an_alert_of_a_host_that_is_being_moved_is_not_changed(
    contract_engine: ClickHouseEngine, database: Database, writer: DetectionWriter, step: MoveStep
) -> None:
    """The change would be written to one of two copies, and the other would stay."""
    moved, other = detection(2, sensor_id=2), detection(1, sensor_id=1)
    writer.write([moved, other])
    moves = (SensorMove(2, SHARD_MAP.shard_of(2), SHARD_MAP.shard_of(1), step),)
    view = ShardView(SHARD_MAP, 1, moves)
    contract_engine.route_by(ShardRouter(lambda: view, SHARDED))
    both, done = ids_condition([moved.id, other.id]), Wanted(status="Resolved")
    with pytest.raises(UnavailableError, match="being moved"):
        change_alerts_at_once(contract_engine, database, EVERYTHING, both, "both", done, BOB)
    changed = change_alert(contract_engine, database, EVERYTHING, other.id, done, BOB)
    assert changed["status"] == "Resolved"
    contract_engine.route_by(router())
    assert alerts_by_id(contract_engine, [moved.id])[moved.id]["status"] == "Unresolved"
    change_alert(contract_engine, database, EVERYTHING, moved.id, done, BOB)
    assert alerts_by_id(contract_engine, [moved.id])[moved.id]["status"] == "Resolved"
