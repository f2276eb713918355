"""Watchlists, feeds, rules, actions, suppressions and responses in the audit log of both databases,
once a change, in the transaction that makes it, without secrets."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from vedette.model.findings.action import ActionType
from vedette.model.findings.detection import Source
from vedette.record.objects.response_policy import ResponsePolicy
from vedette.record.objects.suppression import Suppression
from vedette.record.objects.watchlist import Watchlist
from vedette.state.accounts import audit_trail
from vedette.state.accounts.audit_trail import AuditEntry, Search
from vedette.state.db.database import Database
from vedette.state.db.schema_audit import AUDIT
from vedette.state.db.sealing import open_sealing
from vedette.state.jobs import outbox
from vedette.state.jobs.outbox import NewMessage
from vedette.state.policy import (
    actions,
    feeds,
    ignored_reports,
    response_policies,
    rules,
    suppressions,
    watchlists,
)
from vedette.state.policy.actions import NewAction
from vedette.state.policy.ignored_reports import Ignorer
from vedette.state.policy.sigma_rule import NewSigmaRule
from vedette.state.policy.watchlists import Executed

NOW_US = 1_700_000_000_000_000
SOURCE = Source("watchlist", "7")

Change = Callable[[Database], object]


def noted(database: Database, change: Change) -> list[AuditEntry]:
    """Returns the audit entries that a change adds, oldest first."""
    before = audit_trail.head(database).number
    change(database)
    found = audit_trail.search(database, Search(rows=1_000))[1]
    return [one for one in reversed(found) if one.number > before]


def reported(database: Database, change: Change) -> tuple[str, str, str]:
    (entry,) = noted(database, change)
    return entry.action, entry.kind, entry.target


def rule(rule_id: str = "r-1", text: str = "title: one", level: str = "high") -> NewSigmaRule:
    return NewSigmaRule(rule_id, "rule", text, "one", level, "stable", "", "a.yml", "{}", 1)


def test_a_watchlist(database: Database) -> None:
    def add(state: Database) -> None:
        with state.writing() as connection:
            new = Watchlist(name="odd", search_query="q=process_name:a.exe")
            watchlists.add(connection, new, NOW_US)

    def change(state: Database, **values: object) -> None:
        with state.writing() as connection:
            watchlists.change(connection, watchlists.get(connection, 1), values, NOW_US)

    assert reported(database, add) == ("create", "watchlist", "1")
    assert reported(database, lambda state: change(state, enabled=False)) == (
        ("change", "watchlist", "1")
    )
    (entry,) = noted(database, lambda state: change(state, search_query="q=process_name:b.exe"))
    assert entry.before == {"id": 1, "search_query": "q=process_name:a.exe"}
    assert entry.after == {"id": 2, "search_query": "q=process_name:b.exe"}
    assert noted(database, lambda state: change(state, name="odd")) == []

    def execute(state: Database) -> None:
        with state.writing() as connection:
            watchlists.executed(connection, [Executed(1, 2, hits=3, tags=4, cost_us=5)], NOW_US)

    def remove(state: Database) -> None:
        with state.writing() as connection:
            watchlists.remove(connection, watchlists.get(connection, 2))

    assert noted(database, execute) == []
    assert reported(database, remove) == ("delete", "watchlist", "2")


def test_a_feed_without_its_secrets(database: Database, tmp_path: Path) -> None:
    sealing = open_sealing(tmp_path)
    members = {"name": "Intel", "feed_url": "https://intel.example/feed", "enabled": True}
    members |= {"manually_added": True, "password": "marked-secret-1", "icon": "marked-icon"}
    (made,) = noted(database, lambda state: feeds.add(state, members, sealing, NOW_US))
    assert (made.action, made.kind, made.target) == ("create", "feed", "Intel")
    assert made.after["password_sealed"] == "(set)"
    feed = feeds.named(database, "Intel")

    def change(state: Database) -> None:
        feeds.change(state, feed.id, {"password": "marked-secret-2"}, sealing, NOW_US)

    (changed,) = noted(database, change)
    assert changed.after == {"password_sealed": "(changed)"}

    def synchronise(state: Database) -> None:
        feeds.request_sync(state, feed.id, feeds.EVERYTHING, NOW_US)
        feeds.begin_sync(state, feed.id, NOW_US)
        feeds.note_failed(state, feed, "no route", (), next_us=NOW_US)

    (asked,) = noted(database, synchronise)
    assert (asked.action, asked.target, asked.after) == ("run", "Intel", {"full_sync": True})
    assert reported(database, lambda state: feeds.remove(state, feed.id)) == (
        "delete",
        "feed",
        "Intel",
    )
    with database.reading() as connection:
        rows = "\n".join(str(row) for row in connection.execute(select(AUDIT)))
    assert "marked-" not in rows


def test_a_sigma_rule(database: Database) -> None:
    add = [rule(), rule("r-2")]
    made = noted(database, lambda state: rules.put(state, add, "ann", NOW_US))
    assert [(one.action, one.target) for one in made] == [("create", "r-1"), ("create", "r-2")]
    assert noted(database, lambda state: rules.put(state, add, "ann", NOW_US)) == []
    compiled = [replace(rule(), compiled='{"a": 1}')]
    assert noted(database, lambda state: rules.recompiled(state, compiled, 0)) == []
    (entry,) = noted(
        database, lambda state: rules.switch(state, ["r-1"], "ann", NOW_US, enabled=False)
    )
    assert (entry.before, entry.after) == ({"enabled": True}, {"enabled": False})

    def remove(state: Database) -> None:
        rules.remove(state, ["r-1"], "ann", NOW_US)

    assert reported(database, remove) == ("delete", "sigma rule", "r-1")
    later_us = NOW_US + 10 * 365 * 86_400_000_000
    assert noted(database, lambda state: rules.put(state, [rule()], "ann", NOW_US))[0].action == (
        "create"
    )
    remove(database)
    assert noted(database, lambda state: rules.forget_removed(state, later_us)) == []


def test_an_action_without_its_secret(database: Database) -> None:
    def add(state: Database) -> None:
        with state.writing() as connection:
            new = NewAction(SOURCE, ActionType.HTTP, True, 0, {"template": "x"}, "marked-secret")
            actions.add(connection, new, NOW_US)

    (made,) = noted(database, add)
    with database.reading() as connection:
        (stored,) = actions.of_source(connection, SOURCE)
    target = f"watchlist/7/{stored.id}"
    assert (made.action, made.kind, made.target) == ("create", "action", target)
    assert made.after["secret"] == "(set)"

    def change(state: Database) -> None:
        with state.writing() as connection:
            actions.change(connection, stored.id, NOW_US, enabled=False, secret="marked-other")

    (changed,) = noted(database, change)
    assert changed.after == {"enabled": False, "secret": "(changed)"}

    def remove(state: Database) -> None:
        with state.writing() as connection:
            actions.remove(connection, stored.id)

    assert reported(database, remove) == ("delete", "action", target)
    with database.reading() as connection:
        rows = "\n".join(str(row) for row in connection.execute(select(AUDIT)))
    assert "marked-" not in rows


def test_a_suppression_and_its_hits(database: Database) -> None:
    def add(state: Database) -> None:
        with state.writing() as connection:
            suppressions.add(connection, Suppression(name="quiet", query="process_name:a.exe"))

    def count(state: Database) -> None:
        with state.writing() as connection:
            suppressions.count_hits(connection, {1: 5}, NOW_US)

    def change(state: Database) -> None:
        with state.writing() as connection:
            known = suppressions.get(connection, 1)
            suppressions.change(connection, replace(known, enabled=False))

    def remove(state: Database) -> None:
        with state.writing() as connection:
            suppressions.remove(connection, 1)

    assert reported(database, add) == ("create", "suppression", "1/quiet")
    assert noted(database, count) == []
    assert reported(database, change) == ("change", "suppression", "1/quiet")
    assert reported(database, remove) == ("delete", "suppression", "1/quiet")


def test_a_response_policy(database: Database) -> None:
    def add(state: Database) -> None:
        with state.writing() as connection:
            policy = ResponsePolicy(name="isolate", action="isolate")
            response_policies.add(connection, policy, "ann", NOW_US)

    def change(state: Database) -> None:
        with state.writing() as connection:
            policy = response_policies.get(connection, 1)
            response_policies.change(connection, replace(policy, enabled=True), "ann", NOW_US)

    def remove(state: Database) -> None:
        with state.writing() as connection:
            response_policies.remove(connection, 1)

    assert reported(database, add) == ("create", "response policy", "isolate")
    assert reported(database, change) == ("change", "response policy", "isolate")
    assert reported(database, remove) == ("delete", "response policy", "isolate")


def test_an_ignored_report_once(database: Database) -> None:
    by = Ignorer(1, "ann", NOW_US)

    def ignore(state: Database, *reports: tuple[int, str], ignored: bool = True) -> None:
        with state.writing() as connection:
            ignored_reports.set_ignored(connection, reports, ignored=ignored, by=by)

    assert reported(database, lambda state: ignore(state, (1, "a"))) == (
        ("create", "ignored report", "1/a")
    )
    assert reported(database, lambda state: ignore(state, (1, "a"), (1, "b"))) == (
        ("create", "ignored report", "1/b")
    )
    assert reported(database, lambda state: ignore(state, (1, "a"), ignored=False)) == (
        ("delete", "ignored report", "1/a")
    )


def test_what_is_rolled_back_is_not_in_it(database: Database) -> None:
    def interrupted(state: Database) -> None:
        with state.writing() as connection:
            watchlists.add(connection, Watchlist(name="a", search_query="q=x"), NOW_US)
            raise ValueError("stop")

    def fail(state: Database) -> None:
        with pytest.raises(ValueError, match="stop"):
            interrupted(state)

    assert noted(database, fail) == []


def test_messages_that_are_retried_or_given_up(database: Database) -> None:
    def send(state: Database) -> None:
        new = [NewMessage(key, "mail", '"told"') for key in ("a", "b")]
        with state.writing() as connection:
            outbox.enqueue(connection, new, NOW_US)
        ids.extend(one.id for one in outbox.take(state, "mail", "me", NOW_US, 1, 10))
        outbox.give_up(state, "mail", ids, "refused", NOW_US)

    ids: list[int] = []
    assert noted(database, send) == []  # no person did it
    (retried,) = noted(database, lambda state: outbox.retry(state, ids[:1], NOW_US))
    assert (retried.action, retried.kind, retried.target) == (
        "change",
        "outbox message",
        str(ids[0]),
    )
    assert retried.before == {"target": "mail", "state": "dead"}
    assert retried.after == {"target": "mail", "state": "waiting"}
    given_up = noted(database, lambda state: outbox.discard(state, ids, NOW_US))
    assert [one.target for one in given_up] == [str(one) for one in ids]
    assert [one.before and one.before["state"] for one in given_up] == ["waiting", "dead"]
    assert "told" not in str(given_up)
    assert noted(database, lambda state: outbox.discard(state, ids, NOW_US)) == []
    (hurried,) = noted(database, lambda state: outbox.retry(state, [], NOW_US, "mail"))
    assert (hurried.action, hurried.kind, hurried.target) == ("run", "outbox target", "mail")
