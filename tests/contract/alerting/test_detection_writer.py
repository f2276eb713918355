"""Detections become alerts exactly once, whatever happens between two steps."""

from collections.abc import Sequence

import pytest

from tests.contract.alerting.detections import NOW_US, detection
from tests.contract.store.rows import HOUR_MS, module, partial, process_id, store
from vedette import limits
from vedette.alerting.alert_rows import ALERT_TEXT_CHARS_MAX, ALERT_VALUES_MAX
from vedette.alerting.detection_writer import DetectionWriter
from vedette.alerting.hooks import WrittenDetection
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.model.address import address_text
from vedette.model.findings.detection import Detection, Source
from vedette.record.objects.suppression import Suppression
from vedette.state.db.database import Database, Transaction
from vedette.state.db.schema_alerts import REPORT_IGNORED
from vedette.state.policy import ignored_reports, suppressions
from vedette.state.policy.ignored_reports import Ignorer
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.read.detection.alerts import alerts_by_id
from vedette.store.write.alerts import write_alerts

ANNA = Ignorer(7, "anna", NOW_US)


class Hook:
    """A hook that keeps what it is given, and fails when it is told to."""

    def __init__(self) -> None:
        self.reported: list[WrittenDetection] = []
        self.fails = False

    def __call__(self, _: Transaction, written: Sequence[WrittenDetection]) -> None:
        if self.fails:
            raise UnavailableError("killed here")
        self.reported.extend(written)


@pytest.fixture
def hook() -> Hook:
    return Hook()


@pytest.fixture
def writer(
    contract_engine: ClickHouseEngine, database: Database, clock: DrivenClock, hook: Hook
) -> DetectionWriter:
    return DetectionWriter(contract_engine, database, clock, [hook])


def test_an_alert_keeps_what_was_found_and_what_is_known_of_host_and_process(
    contract_engine: ClickHouseEngine, writer: DetectionWriter
) -> None:
    store(
        contract_engine,
        partial(
            1,
            module("c:\\windows\\system32\\amsi.dll"),
            hostname="ws-1.corp.test",
            group="Default Group",
            path="c:\\windows\\powershell.exe",
            process_name="powershell.exe",
            username="CORP\\anna",
            cmdline="powershell -enc AAAA",
            process_md5="ab" * 16,
            parent_name="winword.exe",
            os_type="windows",
        ),
    )
    found = detection(false_positives=("Admins",), rule_text="title: x", rule_version="3")
    written = writer.write([found])
    assert (written.alerts, written.raised) == (1, 0)
    alert = alerts_by_id(contract_engine, [found.id])[found.id]
    assert alert["hostname"] == "ws-1.corp.test"
    assert alert["group"] == "Default Group"
    assert alert["username"] == "CORP\\anna"
    assert alert["process_path"] == "c:\\windows\\powershell.exe"
    assert alert["md5"] == "ab" * 16
    assert alert["parent_name"] == "winword.exe"
    assert alert["modload_count"] == 1
    assert address_text(alert["interface_ip"]) == "10.0.0.1"
    assert alert["status"] == "Unresolved"
    assert alert["alert_severity"] == 75_000
    assert alert["sensor_criticality"] == 3_000
    assert alert["process_unique_id"] == f"{process_id(1)}-{HOUR_MS:012x}"
    assert alert["matched"] == {"CommandLine": "powershell -enc AAAA"}
    assert alert["event"]["User"] == "CORP\\anna"
    assert alert["techniques"] == ["T1059.001"]
    assert alert["false_positives"] == ["Admins"]
    assert alert["rule_text"] == "title: x"
    assert alert["created_time"] == NOW_US
    assert alert["feed_id"] == -1


def test_writing_a_batch_again_changes_nothing(
    contract_engine: ClickHouseEngine, writer: DetectionWriter, clock: DrivenClock
) -> None:
    batch = [detection(1, count=3), detection(2), detection(1, count=2, seq=11)]
    writer.write(batch)
    ids = [one.id for one in batch[:2]]
    before = alerts_by_id(contract_engine, ids)
    clock.advance(5)
    again = writer.write(batch)
    assert (again.alerts, again.raised) == (0, 0)
    assert alerts_by_id(contract_engine, ids) == before
    assert before[batch[0].id]["count"] == 5


def test_a_batch_that_grew_before_it_was_repeated_counts_only_what_is_new(
    contract_engine: ClickHouseEngine, writer: DetectionWriter
) -> None:
    first = detection(count=3, seq=10)
    writer.write([first])
    later = detection(count=4, seq=12, time_us=NOW_US)
    assert writer.write([first, later]).raised == 1
    alert = alerts_by_id(contract_engine, [first.id])[first.id]
    assert (alert["count"], alert["counted_seq"], alert["last_event_time"]) == (7, 12, NOW_US)
    assert alert["created_time"] == NOW_US


def test_a_change_by_an_analyst_survives_detections_before_and_after_it(
    contract_engine: ClickHouseEngine, writer: DetectionWriter, clock: DrivenClock
) -> None:
    found = detection()
    writer.write([found])
    changed = alerts_by_id(contract_engine, [found.id])[found.id]
    changed |= {"status": "Resolved", "notes": "mine", "version": changed["version"] + 1}
    write_alerts(contract_engine, [changed])
    writer.write([found])
    clock.advance(0.000_001)
    writer.write([detection(seq=20, count=9)])
    alert = alerts_by_id(contract_engine, [found.id])[found.id]
    assert (alert["status"], alert["notes"], alert["count"]) == ("Resolved", "mine", 10)


def test_what_was_interrupted_before_its_transaction_is_told_again(
    writer: DetectionWriter, hook: Hook, database: Database
) -> None:
    marks: list[int] = []
    hook.fails = True
    with pytest.raises(UnavailableError):
        writer.write([detection()], lambda _: marks.append(1))
    assert (hook.reported, marks) == ([], [])
    hook.fails = False
    writer.write([detection(), detection(seq=15)], lambda _: marks.append(2))
    assert [one.is_new for one in hook.reported] == [True]
    assert marks == [2]
    writer.write([detection(seq=16)])
    assert [one.is_new for one in hook.reported] == [True, False]


def test_a_caller_that_fails_within_the_transaction_leaves_no_messages(
    writer: DetectionWriter, database: Database
) -> None:
    found = feed_hit()
    with database.writing() as connection:
        ignored_reports.set_ignored(connection, [(7, "rep")], ignored=True, by=ANNA)

    def fails(_: Transaction) -> None:
        raise UnavailableError("killed here")

    for _ in range(2):
        with pytest.raises(UnavailableError):
            writer.write([found], fails)
    writer.write([found])
    assert hits_of_reports(database) == {(7, "rep"): 1}


def feed_hit(number: int = 1, report: str = "rep") -> Detection:
    return detection(
        number,
        source=Source("feed", "7"),
        source_name="srsfeed",
        report_id=report,
        ioc_type="md5",
        ioc_value="ab" * 16,
    )


def hits_of_reports(database: Database) -> dict[tuple[int, str], int]:
    with database.reading() as connection:
        rows = connection.execute(REPORT_IGNORED.select()).mappings()
        return {(row["feed_id"], row["report_id"]): row["hits"] for row in rows}


def test_hits_of_an_ignored_report_make_no_alert_and_are_counted(
    contract_engine: ClickHouseEngine, writer: DetectionWriter, hook: Hook, database: Database
) -> None:
    with database.writing() as connection:
        ignored_reports.set_ignored(connection, [(7, "rep")], ignored=True, by=ANNA)
    received = feed_hit(2, "other")
    written = writer.write([feed_hit(1), feed_hit(2), received])
    assert (written.alerts, written.of_ignored_reports) == (1, 2)
    assert [one.detection.id for one in hook.reported] == [received.id]
    assert hits_of_reports(database) == {(7, "rep"): 2}
    with database.writing() as connection:
        ignored_reports.set_ignored(connection, [(7, "rep")], ignored=False, by=ANNA)
    assert writer.write([feed_hit(1)]).alerts == 1


def test_a_suppression_keeps_matching_alerts_quiet_until_it_expires(
    writer: DetectionWriter, hook: Hook, database: Database, clock: DrivenClock
) -> None:
    rule = Suppression(
        name="Backup",
        query='username:anna "encoded powershell"',
        expires_us=NOW_US + 1_000_000,
    )
    quiet = Suppression(query="hostname:ws-1 techniques:t1059.*")
    with database.writing() as connection:
        first = suppressions.add(connection, rule)
        second = suppressions.add(connection, quiet)
    written = writer.write([detection(1), detection(2), detection(1, sensor_id=2)])
    assert (written.alerts, written.suppressed) == (1, 2)
    assert [one.detection.sensor_id for one in hook.reported] == [2]
    with database.reading() as connection:
        assert suppressions.get(connection, first.id).hits == 0  # the user is not known
        assert suppressions.get(connection, second.id).hits == 2
        assert suppressions.get(connection, second.id).last_hit_us == NOW_US
    clock.advance(2)
    with database.reading() as connection:
        assert suppressions.rules_in_force(connection, clock.now_us()) == [
            suppressions.get(connection, second.id)
        ]


def test_a_source_without_its_alert_action_makes_no_alert_but_messages(
    contract_engine: ClickHouseEngine, database: Database, clock: DrivenClock, hook: Hook
) -> None:
    writer = DetectionWriter(contract_engine, database, clock, [hook], lambda *_: ())
    written = writer.write([detection()])
    assert written.alerts == 0
    assert [(one.has_alert, one.alert["hostname"]) for one in hook.reported] == [
        (False, "ws-1.corp.test")
    ]
    assert alerts_by_id(contract_engine, [detection().id]) == {}


def test_a_storm_is_one_alert_that_counts_and_new_hosts_are_still_shown(
    contract_engine: ClickHouseEngine,
    writer: DetectionWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vedette.alerting.alert_storm.ALERTS_AN_HOUR_MAX", 5)
    batch = [detection(number) for number in range(1, 21)]
    elsewhere = detection(1, sensor_id=3)
    for _ in range(2):
        written = writer.write([*batch, elsewhere])
    assert written.held_back == 15
    found = contract_engine.query(
        "SELECT source_kind, sensor_id, title, `count` FROM alert FINAL "
        "WHERE source_kind = 'server' OR sensor_id = 3 ORDER BY sensor_id"
    ).rows
    assert found == [
        ("server", 0, "Alert storm: Encoded PowerShell", 15),
        ("rule", 3, "Encoded PowerShell", 1),
    ]
    writer.write([detection(30, seq=11, count=7)])
    (count,) = contract_engine.query(
        "SELECT `count` FROM alert FINAL WHERE source_kind = 'server'"
    ).rows[0]
    assert count == 22
    total = contract_engine.query("SELECT count() FROM alert FINAL").rows[0][0]
    assert total == 5 + 1 + 1


def test_many_alerts_are_written_in_slices(
    contract_engine: ClickHouseEngine,
    writer: DetectionWriter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vedette.alerting.detection_writer.ALERT_BATCH", 7)
    batch = [detection(number) for number in range(1, 31)]
    assert writer.write(batch).alerts == 30
    assert writer.write(batch).alerts == 0
    assert len(alerts_by_id(contract_engine, [one.id for one in batch])) == 30


def test_hostile_text_is_kept_within_bounds(
    contract_engine: ClickHouseEngine, writer: DetectionWriter
) -> None:
    found = detection(
        title="<script>alert(1)</script>\ud800" + "x" * 100_000,
        event={f"k{number}": "v" * 100_000 for number in range(1_000)},
        tags=tuple(map(str, range(1_000))),
    )
    writer.write([found])
    alert = alerts_by_id(contract_engine, [found.id])[found.id]
    assert alert["title"].startswith("<script>alert(1)</script>?")
    assert len(alert["title"]) == ALERT_TEXT_CHARS_MAX
    assert len(alert["event"]) == ALERT_VALUES_MAX
    assert len(alert["tags"]) == limits.ALERT_LISTED_MAX
