"""Response by rule: off by default, bounded, undone, and never against what a person decided."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import update

from tests.contract.alerting.detections import detection
from vedette.alerting.detection_writer import DetectionWriter
from vedette.alerting.response import Responder, ResponseHook, matches_host
from vedette.clock import DrivenClock
from vedette.model.event import BinarySeen
from vedette.model.scope import EVERYTHING
from vedette.record.objects.response_policy import ResponsePolicy
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR
from vedette.state.jobs import responses
from vedette.state.jobs.responses import ResponseState
from vedette.state.policy import bans, response_policies
from vedette.state.policy.bans import BanAuthor
from vedette.state.sensors import sensor_changes, sensor_list
from vedette.state.sensors.sensor_changes import SensorChanges
from vedette.store.engine.client import ClickHouseEngine
from vedette.store.write.commit import BinaryRow, Commit
from vedette.store.write.insert import write_commit

MD5 = "ab" * 16
HOUR_S = 3_600


@pytest.fixture
def sensors(database: Database) -> Database:
    """Hosts whose sensors can be isolated."""
    with database.writing() as connection:
        connection.execute(update(SENSOR).values(key_sha256=b"key"))
    return database


@pytest.fixture
def writer(engine: ClickHouseEngine, sensors: Database, clock: DrivenClock) -> DetectionWriter:
    return DetectionWriter(engine, sensors, clock, [ResponseHook(clock)])


@pytest.fixture
def responder(engine: ClickHouseEngine, sensors: Database, clock: DrivenClock) -> Responder:
    return Responder(sensors, engine, clock)


def policy(database: Database, **values: Any) -> ResponsePolicy:
    usual = {"name": "p", "enabled": True, "action": "isolate", "level": "high"}
    with database.writing() as connection:
        new = ResponsePolicy(**usual | values)
        return response_policies.add(connection, new, "admin", 1)


def isolated(database: Database) -> list[int]:
    rows = [sensor_list.get(database, EVERYTHING, number) for number in (1, 2, 3)]
    return [row.id for row in rows if row.network_isolation_enabled]


def record(database: Database) -> list[tuple[str, str]]:
    found = responses.page(database, 0, 100)
    return [(one.state.name, one.text) for one in reversed(found)]


def banned(database: Database) -> list[str]:
    return [one.md5 for one in bans.all_bans(database) if one.enabled]


def fire(writer: DetectionWriter, responder: Responder, found: Sequence[Any]) -> None:
    writer.write(list(found))
    responder.carry_out()


def test_nothing_happens_by_itself(
    writer: DetectionWriter, responder: Responder, database: Database
) -> None:
    policy(database, enabled=False)
    fire(writer, responder, [detection(1, level="critical")])
    assert (isolated(database), record(database)) == ([], [])


def test_a_host_is_isolated_and_let_go_when_the_time_has_come(
    writer: DetectionWriter, responder: Responder, database: Database, clock: DrivenClock
) -> None:
    policy(database, expires_hours=2)
    fire(writer, responder, [detection(1), detection(2, sensor_id=2, level="medium")])
    assert isolated(database) == [1]
    clock.advance(HOUR_S)
    responder.end()
    assert isolated(database) == [1]
    # What fires meanwhile lets it hold longer.
    fire(writer, responder, [detection(9, time_us=clock.now_us())])
    clock.advance(HOUR_S + 1)
    responder.end()
    assert isolated(database) == [1]
    clock.advance(HOUR_S)
    responder.end()
    assert isolated(database) == []
    assert record(database) == [("ENDED", ""), ("SKIPPED", "response 1 holds already")]


def test_rules_are_named_or_chosen_by_level(
    writer: DetectionWriter, responder: Responder, database: Database
) -> None:
    policy(database, rule_ids=("another",))
    fire(writer, responder, [detection(1, level="critical")])
    assert isolated(database) == []
    policy(database, name="q", rule_ids=("r-1",))
    fire(writer, responder, [detection(2, level="low")])
    assert isolated(database) == [1]


def test_hosts_on_the_list_are_never_isolated(
    writer: DetectionWriter, responder: Responder, database: Database
) -> None:
    policy(database, hosts_never=("dc*", "WS-1.corp.*", "ws-2"))
    fire(writer, responder, [detection(n, sensor_id=n) for n in (1, 2, 3)])
    assert isolated(database) == [3]
    assert record(database)[:2] == [("SKIPPED", "the host is never isolated")] * 2


def test_there_is_a_limit_an_hour(
    writer: DetectionWriter, responder: Responder, database: Database, clock: DrivenClock
) -> None:
    policy(database, hour_max=1)
    fire(writer, responder, [detection(n, sensor_id=n) for n in (1, 2)])
    assert isolated(database) == [1]
    assert record(database)[1] == ("SKIPPED", "1 per hour: limit reached")
    clock.advance(HOUR_S + 1)
    fire(writer, responder, [detection(5, sensor_id=2, time_us=clock.now_us())])
    assert isolated(database) == [1, 2]


def test_events_of_the_past_cause_nothing(
    writer: DetectionWriter, responder: Responder, database: Database, clock: DrivenClock
) -> None:
    policy(database)
    old_us = clock.now_us() - 25 * HOUR_S * 1_000_000
    fire(writer, responder, [detection(1, time_us=old_us)])
    assert (isolated(database), record(database)) == ([], [("SKIPPED", "the event is too old")])


def test_a_host_without_a_sensor_is_recorded_as_failed(
    writer: DetectionWriter, responder: Responder, database: Database
) -> None:
    policy(database)
    with database.writing() as connection:
        connection.execute(update(SENSOR).values(key_sha256=None))
    fire(writer, responder, [detection(1)])
    ((state, text),) = record(database)
    assert (state, "no sensor" in text) == ("FAILED", True)


def test_what_a_person_isolated_is_not_let_go(
    writer: DetectionWriter, responder: Responder, database: Database, clock: DrivenClock
) -> None:
    policy(database, expires_hours=1)
    by_hand = SensorChanges(network_isolation_enabled=True)
    sensor_changes.change(database, 1, by_hand, clock.now_us())
    fire(writer, responder, [detection(1), detection(2, sensor_id=2)])
    responses.take_over(database, "isolate", "2", "ann")
    clock.advance(2 * HOUR_S)
    responder.end()
    assert isolated(database) == [1, 2]
    assert record(database) == [("SKIPPED", "isolated already"), ("TAKEN_OVER", "ann decided")]


def test_a_file_is_banned_and_the_ban_ends(
    writer: DetectionWriter, responder: Responder, database: Database, clock: DrivenClock
) -> None:
    policy(database, action="ban", expires_hours=1)
    fire(writer, responder, [detection(1, md5=MD5), detection(2, md5="")])
    assert banned(database) == [MD5]
    assert bans.get(database, MD5).username == "response policy 1"
    assert record(database)[1] == ("SKIPPED", "the event has no MD5")
    clock.advance(HOUR_S + 1)
    responder.end()
    assert banned(database) == []


def test_a_ban_that_a_person_changed_stays(
    writer: DetectionWriter, responder: Responder, database: Database, clock: DrivenClock
) -> None:
    policy(database, action="ban", expires_hours=1)
    fire(writer, responder, [detection(1, md5=MD5)])
    by = BanAuthor(1, "ann")
    now_us = clock.now_us()
    bans.change(database, MD5, enabled=None, text="for good", by=by, now_us=now_us)
    clock.advance(2 * HOUR_S)
    responder.end()
    assert banned(database) == [MD5]
    assert record(database) == [("TAKEN_OVER", "ann decided")]


def test_a_file_of_many_hosts_is_not_banned(
    engine: ClickHouseEngine, writer: DetectionWriter, responder: Responder, database: Database
) -> None:
    policy(database, action="ban", ban_hosts_max=2)
    image = BinarySeen(5, MD5, MD5 * 2, "", "c:\\windows\\cmd.exe", {})
    rows = [BinaryRow(n, f"ws-{n}", "G", "windows", image, 1_000, 3) for n in (1, 2, 3)]
    write_commit(engine, Commit(binaries=rows))
    fire(writer, responder, [detection(1, md5=MD5)])
    assert banned(database) == []
    assert record(database) == [("SKIPPED", "3 hosts have the file: it may be a system file")]


@pytest.mark.parametrize("step", ["begin", "change", "finish"])
def test_a_kill_at_any_step_is_repaired_and_the_response_ends(
    writer: DetectionWriter,
    responder: Responder,
    database: Database,
    clock: DrivenClock,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    policy(database, expires_hours=1, hour_max=1)
    writer.write([detection(1)])
    with monkeypatch.context() as patch:
        where = sensor_changes if step == "change" else responses
        patch.setattr(where, step, killed)
        with pytest.raises(Killed):
            responder.carry_out()
    responder.carry_out()
    assert isolated(database) == [1]
    assert record(database) == [("DONE", "")]
    clock.advance(2 * HOUR_S)
    responder.end()
    assert isolated(database) == []
    assert responses.page(database, 0, 10)[0].state is ResponseState.ENDED


@pytest.mark.parametrize(
    ("pattern", "host", "matches"),
    [
        ("dc*", "dc01.corp.test", True),
        ("DC?", "dc1.corp.test", True),
        ("dc?", "dc10.corp.test", False),
        ("*.corp.test", "a.corp.test", True),
        ("a.b", "axb", False),
        ("(.*)", "host", False),
        ("*" * 200 + "x", "a" * 250, False),
        ("", "host", False),
    ],
)
def test_names_of_hosts_are_globs(pattern: str, host: str, matches: bool) -> None:
    assert matches_host([pattern], host) is matches
