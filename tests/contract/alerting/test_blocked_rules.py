"""Correlations that cannot fire are not shown as in force."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.contract.alerting.test_rule_hits import LOGON, MANY, MANY_ID, QUIET, SHELL
from tests.support.started_state import open_started_state
from vedette.alerting.rule_import import import_rules
from vedette.alerting.rule_messages import RuleFile
from vedette.state.db.database import Database
from vedette.state.policy import rules
from vedette.state.policy.rule_list import listed
from vedette.state.policy.rules import Wanted
from vedette.state.policy.sigma_rule import RuleState

LOGON_ID = "22222222-2222-4222-8222-222222222222"
BOTH = """title: A logon fails, then a shell starts
id: 66666666-6666-4666-8666-666666666666
name: both
level: high
correlation:
  type: temporal_ordered
  rules: [logon_fails, shell_starts]
  group-by: [ComputerName]
  timespan: 5m
"""
BOTH_ID = "66666666-6666-4666-8666-666666666666"
ABOVE = """title: Often
id: 77777777-7777-4777-8777-777777777777
level: high
correlation:
  type: event_count
  rules: [both]
  group-by: [ComputerName]
  timespan: 1h
  condition: {gte: 2}
"""
ABOVE_ID = "77777777-7777-4777-8777-777777777777"
SOON = 10**6


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_started_state(tmp_path, 1_000)) as opened:
        yield opened


def _add(database: Database, *texts: str) -> None:
    files = [RuleFile(f"{number}.yml", text, "") for number, text in enumerate(texts)]
    assert all(
        not one.rule.problem_message for one in import_rules(database, files, "tester", 1_000)
    )


def _state(database: Database, rule_id: str) -> tuple[str, str, str]:
    one = rules.get(database, rule_id)
    return one.state(SOON), one.reason, one.message


def test_a_correlation_of_an_unknown_rule_is_blocked_until_the_rule_comes(
    database: Database,
) -> None:
    _add(database, MANY)
    blocked = ("blocked", "no_base_rule", "rule logon_fails not found")
    assert _state(database, MANY_ID) == blocked
    _add(database, LOGON)
    assert _state(database, MANY_ID) == ("in_force", "", "")
    rules.remove(database, [LOGON_ID], "t", 2_000)
    assert _state(database, MANY_ID) == blocked


def test_a_rule_that_is_off_by_its_level_blocks_its_correlation(database: Database) -> None:
    _add(database, LOGON.replace("level: medium", "level: low"), MANY)
    assert _state(database, MANY_ID) == (
        "blocked",
        "no_base_rule",
        "rule 'A logon fails' is switched off",
    )
    rules.switch(database, [LOGON_ID], "t", 1, enabled=True)
    assert _state(database, MANY_ID)[0] == "in_force"
    with database.writing() as connection:
        rules.stop(connection, LOGON_ID, "too dear", 5)
    assert _state(database, MANY_ID)[2] == "rule 'A logon fails' was stopped because of its cost"


def test_an_order_needs_all_rules_and_what_is_above_needs_the_order(database: Database) -> None:
    _add(database, LOGON, BOTH, ABOVE)
    assert _state(database, BOTH_ID)[::2] == ("blocked", "rule shell_starts not found")
    assert _state(database, ABOVE_ID)[::2] == (
        "blocked",
        "rule 'A logon fails, then a shell starts' cannot fire",
    )
    _add(database, SHELL)
    assert {_state(database, one)[0] for one in (BOTH_ID, ABOVE_ID)} == {"in_force"}


def test_a_count_of_several_rules_needs_one_of_them(database: Database) -> None:
    _add(database, LOGON, MANY.replace("[logon_fails]", "[logon_fails, no_such]"))
    assert _state(database, MANY_ID)[0] == "in_force"


def test_a_filter_of_an_unknown_rule_is_blocked(database: Database) -> None:
    _add(database, QUIET)
    [known] = rules.page(database, Wanted(), 0, 10).rules
    assert known.state(SOON) == "blocked"
    _add(database, SHELL)
    assert rules.get(database, known.rule.id).state(SOON) == "in_force"


def test_lists_narrow_by_the_true_state(database: Database) -> None:
    _add(database, MANY, SHELL)
    expected: dict[RuleState, set[str]] = {"blocked": {MANY_ID}, "pending": {"1" * 8}}
    for state, found in expected.items():
        wanted = Wanted(state=state)
        page = rules.page(database, wanted, 0, 10)
        assert {one.rule.id[:8] for one in page.rules} == {one[:8] for one in found}
        assert {one.id for one in listed(database, wanted)} == {one.rule.id for one in page.rules}
    named = rules.named(database, [MANY_ID])[MANY_ID]
    assert (named.state(0), named.reason) == ("blocked", "no_base_rule")
    page = rules.page(database, Wanted(reason="no_base_rule"), 0, 10)
    assert [one.rule.id for one in page.rules] == [MANY_ID]
