"""Detections become messages once, for every enabled action, whatever is interrupted."""

from pathlib import Path

import pytest

from tests.contract.alerting.detections import RULE, detection
from vedette.alerting.detection_writer import DetectionWriter
from vedette.alerting.outbox_hook import OutboxHook
from vedette.clock import DrivenClock
from vedette.errors import UnavailableError
from vedette.model.findings.action import EVERY_SOURCE, RECIPIENTS, ActionType
from vedette.model.findings.detection import Source
from vedette.notify.notice import decode
from vedette.state.db.database import Database, Transaction
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import Message, MessageState
from vedette.state.policy import actions, app_control
from vedette.state.policy.actions import NewAction, enabled_actions
from vedette.store.engine.client import ClickHouseEngine

DIGEST_S = 30


@pytest.fixture
def writer(engine: ClickHouseEngine, database: Database, clock: DrivenClock) -> DetectionWriter:
    hook = OutboxHook(clock, DIGEST_S)
    return DetectionWriter(
        engine,
        database,
        clock,
        [hook],
        lambda transaction, sources: [
            one for one, found in enabled_actions(transaction, sources).items() if found.is_alerting
        ],
    )


def add(
    database: Database,
    kind: ActionType,
    source: Source = RULE,
    user_id: int = 0,
    **data: object,
) -> int:
    with database.writing() as connection:
        return actions.add(connection, NewAction(source, kind, True, user_id, data), 1)


def waiting(database: Database) -> list[Message]:
    return outbox.messages(database, MessageState.WAITING)


def test_each_enabled_action_gets_one_message(
    writer: DetectionWriter, database: Database, clock: DrivenClock
) -> None:
    mail = add(database, ActionType.EMAIL, user_id=1)
    add(database, ActionType.SYSLOG)
    hook = add(database, ActionType.HTTP, receiver="https://x.example 12")
    add(database, ActionType.SYSLOG, Source("rule", "another"))
    found = detection(1)
    writer.write([found])
    writer.write([found])
    messages = waiting(database)
    assert [(one.key, one.target, one.action_id) for one in messages] == [
        (f"{found.id}:mail:1", "email:1", mail),
        (f"{found.id}:syslog", "syslog", messages[1].action_id),
        (f"{found.id}:{hook}", "http:https://x.example 12", hook),
    ]
    assert messages[0].due_us == clock.now_us() + DIGEST_S * 1_000_000
    notice = decode(messages[0].body)
    assert (notice.hostname, notice.title, notice.recipient_id) == (
        "ws-1.corp.test",
        "Encoded PowerShell",
        1,
    )
    assert (notice.has_alert, notice.severity, notice.interface_ip) == (True, 75, "10.0.0.1")


def test_a_person_gets_a_detection_once(writer: DetectionWriter, database: Database) -> None:
    add(database, ActionType.EMAIL, user_id=1)
    add(database, ActionType.EMAIL, Source("rule", EVERY_SOURCE), user_id=1)
    add(database, ActionType.EMAIL, **{RECIPIENTS: [1]})
    writer.write([detection(1)])
    assert len(waiting(database)) == 1


def test_a_source_without_alerts_sends_messages(
    writer: DetectionWriter, database: Database
) -> None:
    feed = Source("feed", "7")
    add(database, ActionType.SYSLOG, feed)
    writer.write([detection(1, source=feed, report_id="r")])
    (message,) = waiting(database)
    assert decode(message.body).has_alert is False


def test_hits_of_watchlists_are_exported_when_that_is_on(
    writer: DetectionWriter, database: Database
) -> None:
    watchlist = Source("watchlist", "3")
    writer.write([detection(1, source=watchlist), detection(2)])
    assert waiting(database) == []
    with database.writing() as connection:
        app_control.change(connection, server_url="x.example", is_exporting=True)
    writer.write([detection(3, source=watchlist), detection(4)])
    (message,) = waiting(database)
    assert message.target == "app_control"


def test_what_was_interrupted_is_sent_and_what_was_not_is_not_sent_again(
    writer: DetectionWriter, database: Database
) -> None:
    add(database, ActionType.SYSLOG)

    def killed(_: Transaction) -> None:
        raise UnavailableError("killed here")

    with pytest.raises(UnavailableError):
        writer.write([detection(1)], killed)
    assert waiting(database) == []
    writer.write([detection(1)])
    (message,) = waiting(database)
    outbox.mark_sent(database, "syslog", [message.id], 1)
    writer.write([detection(1), detection(1, count=5)])
    assert waiting(database) == []


def test_hostile_text_becomes_a_message(
    writer: DetectionWriter, database: Database, tmp_path: Path
) -> None:
    add(database, ActionType.SYSLOG)
    hostile = "\udcff\x00\r\n" + "x" * 100_000
    writer.write([detection(1, title=hostile, description=hostile, tags=(hostile,) * 500)])
    (message,) = waiting(database)
    assert len(message.body) < 300_000
