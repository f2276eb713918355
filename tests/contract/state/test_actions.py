"""Stored actions: defaults, mail of users, actions of every source of a kind."""

import pytest

from vedette.errors import NotFoundError
from vedette.model.findings.action import EVERY_SOURCE, ActionType
from vedette.model.findings.detection import Source, SourceKind
from vedette.state.accounts import users
from vedette.state.db.database import Database
from vedette.state.policy import actions
from vedette.state.policy.actions import NewAction

NOW_US = 1_700_000_000_000_000
RULE = Source("rule", "4d2a")
FEED = Source("feed", "7")


def add(
    database: Database,
    source: Source,
    kind: ActionType,
    *,
    enabled: bool = True,
    user_id: int = 0,
    data: dict[str, object] | None = None,
) -> int:
    with database.writing() as connection:
        new = NewAction(source, kind, enabled, user_id, data or {})
        return actions.add(connection, new, NOW_US)


def enabled(database: Database, source: Source) -> actions.EnabledActions:
    with database.reading() as connection:
        return actions.enabled_actions(connection, [source, Source("feed", "other")])[source]


@pytest.mark.parametrize(
    ("kind", "is_alerting"),
    [("rule", True), ("server", True), ("feed", False), ("watchlist", False)],
)
def test_only_rules_and_the_server_alert_by_default(
    database: Database, kind: SourceKind, is_alerting: bool
) -> None:
    assert enabled(database, Source(kind, "1")) == actions.EnabledActions(is_alerting)


def test_the_alert_action_can_be_switched_both_ways(database: Database) -> None:
    add(database, RULE, ActionType.ALERT, enabled=False)
    add(database, FEED, ActionType.ALERT)
    assert enabled(database, RULE).is_alerting is False
    assert enabled(database, FEED).is_alerting is True
    assert enabled(database, Source("feed", "8")).is_alerting is False


def test_messages_are_the_enabled_ones_of_the_source_and_of_every_source(
    database: Database,
) -> None:
    everywhere = add(database, Source("rule", EVERY_SOURCE), ActionType.SYSLOG)
    own = add(database, RULE, ActionType.HTTP, data={"url": "https://x.example"})
    add(database, RULE, ActionType.HTTP, enabled=False)
    add(database, FEED, ActionType.HTTP)
    found = enabled(database, RULE).messages
    assert [(one.id, one.type) for one in found] == [
        (everywhere, ActionType.SYSLOG),
        (own, ActionType.HTTP),
    ]
    assert found[1].data == {"url": "https://x.example"}
    assert [one.id for one in enabled(database, Source("server", "storm")).messages] == [everywhere]


def test_a_source_overrules_what_holds_for_all_of_its_kind(database: Database) -> None:
    add(database, Source("feed", EVERY_SOURCE), ActionType.ALERT)
    assert enabled(database, FEED).is_alerting is True
    add(database, FEED, ActionType.ALERT, enabled=False)
    assert enabled(database, FEED).is_alerting is False
    add(database, Source("rule", EVERY_SOURCE), ActionType.ALERT, enabled=False)
    assert enabled(database, Source("server", "storm")).is_alerting is True


def test_many_sources_are_looked_up_in_few_statements(database: Database) -> None:
    sources = [Source("rule", str(number)) for number in range(1_234)]
    add(database, sources[-1], ActionType.SYSLOG)
    with database.reading() as connection:
        found = actions.enabled_actions(connection, sources)
    assert len(found) == 1_234
    assert [source for source, one in found.items() if one.messages] == [sources[-1]]


def test_a_users_mail_ends_with_the_user(database: Database) -> None:
    user = users.add(database, users.NewUser("ann"), NOW_US)
    add(database, RULE, ActionType.EMAIL, user_id=user.id)
    assert [one.user_id for one in enabled(database, RULE).messages] == [user.id]
    users.remove(database, "ann")
    assert enabled(database, RULE).messages == ()


def test_actions_move_and_are_removed_with_their_source(database: Database) -> None:
    old, new = Source("watchlist", "1"), Source("watchlist", "2")
    action_id = add(database, old, ActionType.SYSLOG)
    with database.writing() as connection:
        actions.move(connection, old, new)
        assert actions.of_source(connection, old) == []
        assert actions.get(connection, new, action_id).source == new
        actions.change(connection, action_id, NOW_US, enabled=False, data={"a": 1}, secret="x")
        changed = actions.get(connection, new, action_id)
        assert (changed.enabled, changed.data, changed.has_secret) == (False, {"a": 1}, True)
        assert actions.sealed_secret(connection, action_id) == "x"
        actions.remove_of(connection, new)
        with pytest.raises(NotFoundError):
            actions.get(connection, new, action_id)
