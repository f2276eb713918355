"""The outbox: once for a key, in order for a target, visible when it fails."""

from collections.abc import Iterable

import pytest

from vedette.state.db.database import Database
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import OUTBOX_TOMBSTONE_US, MessageState, NewMessage, Target

NOW_US = 1_700_000_000_000_000
SECOND_US = 1_000_000
HOLD_US = 60 * SECOND_US


def enqueue(database: Database, keys: Iterable[str], target: str = "mail", due_us: int = 0) -> int:
    with database.writing() as connection:
        new = [NewMessage(key, target, f'"{key}"', due_us=due_us) for key in keys]
        return outbox.enqueue(connection, new, NOW_US)


def keys(found: Iterable[outbox.Message]) -> list[str]:
    return [one.key for one in found]


def take(
    database: Database, target: str = "mail", now_us: int = NOW_US, holder: str = "me"
) -> list[outbox.Message]:
    return outbox.take(database, target, holder, now_us, HOLD_US, 10)


def due(database: Database, now_us: int = NOW_US) -> list[str]:
    return [one.name for one in outbox.due_targets(database, now_us)]


def target(database: Database, name: str = "mail") -> Target:
    return next(one for one in outbox.targets(database) if one.name == name)


def test_messages_come_in_order_and_a_key_comes_once(database: Database) -> None:
    assert enqueue(database, ["b", "a"]) == 2
    assert enqueue(database, ["a", "c", "c", "b"]) == 1
    found = take(database)
    assert keys(found) == ["b", "a", "c"]
    assert found[0].body == '"b"'


def test_what_was_sent_is_never_enqueued_again_and_loses_its_body(database: Database) -> None:
    enqueue(database, ["a", "b"])
    first, _ = take(database)
    outbox.mark_sent(database, "mail", [first.id], NOW_US)
    outbox.release(database, "mail", "me")
    assert enqueue(database, ["a"]) == 0
    assert keys(take(database)) == ["b"]
    (sent,) = outbox.messages(database, MessageState.SENT)
    assert (sent.key, sent.body, sent.attempts) == ("a", "", 1)
    assert (target(database).waiting, target(database).sent) == (1, 1)


def test_a_transaction_that_fails_enqueues_nothing(database: Database) -> None:
    def detect() -> None:
        with database.writing() as connection:
            outbox.enqueue(connection, [NewMessage("a", "mail", "{}")], NOW_US)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        detect()
    assert outbox.targets(database) == []
    assert enqueue(database, ["a"]) == 1


def test_one_at_a_time_holds_a_target(database: Database) -> None:
    enqueue(database, ["a"])
    assert keys(take(database)) == ["a"]
    assert take(database, holder="another") == []
    assert due(database) == []
    assert outbox.renew(database, "mail", "another", NOW_US, HOLD_US) is False
    assert outbox.renew(database, "mail", "me", NOW_US + 1, HOLD_US) is True
    # It died: after its time somebody else sends, perhaps again.
    later_us = NOW_US + HOLD_US + 1
    assert due(database, later_us) == ["mail"]
    assert keys(take(database, now_us=later_us, holder="another")) == ["a"]


def test_a_target_that_fails_waits_and_the_others_go_on(database: Database) -> None:
    enqueue(database, ["a", "b"])
    enqueue(database, ["c"], "syslog")
    take(database)
    outbox.mark_failed(database, "mail", "connection refused", NOW_US, NOW_US + 8 * SECOND_US)
    outbox.release(database, "mail", "me")
    assert due(database) == ["syslog"]
    assert due(database, NOW_US + 8 * SECOND_US) == ["syslog", "mail"]
    failing = target(database)
    assert (failing.failures, failing.error, failing.failing_since_us) == (
        1,
        "connection refused",
        NOW_US,
    )
    found = take(database, now_us=NOW_US + 8 * SECOND_US)
    assert [(one.key, one.attempts) for one in found] == [("a", 1), ("b", 0)]
    outbox.mark_sent(database, "mail", [one.id for one in found], NOW_US)
    assert (target(database).failures, target(database).error) == (0, "")


def test_the_first_message_decides_when_a_target_is_due(database: Database) -> None:
    enqueue(database, ["a"], due_us=NOW_US + SECOND_US)
    enqueue(database, ["b"], due_us=0)
    assert due(database) == []
    assert due(database, NOW_US + SECOND_US) == ["mail"]
    assert keys(take(database)) == ["a", "b"]


def test_a_dead_message_is_seen_and_retried_in_its_place(database: Database) -> None:
    enqueue(database, ["a", "b"])
    first, _ = take(database)
    outbox.give_up(database, "mail", [first.id], "550 no such user", NOW_US)
    outbox.release(database, "mail", "me")
    (dead,) = outbox.messages(database, MessageState.DEAD, "mail")
    assert (dead.key, dead.error, dead.body) == ("a", "550 no such user", '"a"')
    assert outbox.dead_counts(database) == {"mail": 1}
    assert target(database).waiting == 1
    assert outbox.retry(database, [dead.id], NOW_US) == 1
    assert outbox.retry(database, [dead.id], NOW_US) == 0
    assert keys(take(database)) == ["a", "b"]
    assert target(database).waiting == 2


def test_a_message_is_dropped_or_discarded_and_its_key_stays(database: Database) -> None:
    enqueue(database, ["a", "b"])
    first, second = take(database)
    outbox.drop(database, "mail", [first.id], "its action was deleted", NOW_US)
    outbox.give_up(database, "mail", [second.id], "no", NOW_US)
    assert outbox.discard(database, [first.id, second.id], NOW_US) == 1
    assert keys(outbox.messages(database, MessageState.DISCARDED)) == ["a", "b"]
    assert target(database).waiting == 0
    assert enqueue(database, ["a", "b"]) == 0


def test_what_was_discarded_while_it_was_sent_is_counted_once(database: Database) -> None:
    enqueue(database, ["a"])
    (first,) = take(database)
    outbox.drop(database, "mail", [first.id], "discarded", NOW_US)
    outbox.mark_sent(database, "mail", [first.id], NOW_US)
    assert (target(database).waiting, target(database).sent) == (0, 0)


def test_a_full_target_counts_what_it_refuses(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vedette.state.jobs.outbox.OUTBOX_WAITING_MAX", 2)
    assert enqueue(database, ["a", "b", "c"]) == 2
    assert enqueue(database, ["d"], "syslog") == 1
    full = target(database)
    assert (full.waiting, full.refused, full.refused_us) == (2, 1, NOW_US)
    outbox.mark_sent(database, "mail", [one.id for one in take(database)], NOW_US)
    assert enqueue(database, ["c"]) == 1


def test_hurrying_ends_a_backoff(database: Database) -> None:
    enqueue(database, ["a"])
    take(database)
    outbox.mark_failed(database, "mail", "down", NOW_US, NOW_US + HOLD_US)
    outbox.release(database, "mail", "me")
    assert outbox.retry(database, [], NOW_US, "mail") == 0
    assert outbox.retry(database, [], NOW_US, "nobody") == 0
    assert due(database) == ["mail"]


def test_old_tombstones_are_purged_and_what_waits_is_not(database: Database) -> None:
    enqueue(database, ["a", "b"])
    first, _ = take(database)
    outbox.mark_sent(database, "mail", [first.id], NOW_US)
    later_us = NOW_US + OUTBOX_TOMBSTONE_US
    assert outbox.purge(database, later_us) == 0
    assert outbox.purge(database, later_us + 1) == 1
    assert keys(outbox.messages(database, MessageState.WAITING)) == ["b"]
