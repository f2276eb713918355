"""Values of placeholders and the rules that name them; what rules said before."""

import pytest

from vedette.alerting.rule_import import compile_anew, import_rules
from vedette.alerting.rule_messages import RuleFile
from vedette.errors import ConflictError, NotFoundError
from vedette.state.db.database import Database
from vedette.state.policy import rule_placeholders, rule_versions, rules
from vedette.state.policy.rule_versions import SIGMA_VERSIONS_KEPT
from vedette.state.shares.quota_list import SIGMA_PLACEHOLDERS_MAX

ID = "11111111-1111-4111-8111-111111111111"
TEXT = """title: A rule about administrators
id: {id}
logsource: {{product: windows, category: process_creation}}
detection:
  a:
    User|expand: '%admins%'
    Image: c{number}
  condition: a
"""


def add(database: Database, number: int = 0, by: str = "ann", now_us: int = 5) -> str:
    file = RuleFile("a.yml", TEXT.format(id=ID, number=number), "")
    (done,) = import_rules(database, [file], by, now_us)
    return done.change


def compiled(database: Database) -> str:
    """Returns the compiled rule, or the reason of its rejection."""
    rule = rules.get(database, ID).rule
    return rule.problem_reason or rule.compiled


def test_a_rule_is_compiled_anew_when_its_placeholder_changes(database: Database) -> None:
    add(database)
    assert compiled(database) == "unresolved_placeholder"
    before = rules.generation(database)
    rule_placeholders.put(database, "admins", ["ann"], "root", 7)
    assert compile_anew(database) == 1
    assert '"ann"' in compiled(database)
    assert rules.generation(database) > before
    rule_placeholders.put(database, "admins", ["bob"], "root", 8)
    assert compile_anew(database) == 1
    assert '"bob"' in compiled(database)
    assert compile_anew(database) == 0
    assert add(database) == "unchanged"
    rule_placeholders.remove(database, "admins")
    compile_anew(database)
    assert compiled(database) == "unresolved_placeholder"
    with pytest.raises(NotFoundError):
        rule_placeholders.remove(database, "admins")


def test_a_server_that_is_killed_after_a_change_compiles_when_it_starts(database: Database) -> None:
    add(database)
    rule_placeholders.put(database, "admins", ["ann"], "root", 7)
    # Here it is killed; a start compiles what is marked.
    assert [one.id for one in rules.outdated(database, 1_000_000)] == [ID]
    compile_anew(database)
    assert '"ann"' in compiled(database)


def test_what_was_compiled_with_older_values_is_not_kept(database: Database) -> None:
    add(database)
    values = rule_placeholders.load(database)
    made = [rules.get(database, ID).rule]
    rule_placeholders.put(database, "admins", ["ann"], "root", 7)
    assert not rules.recompiled(database, made, values.version)
    rules.put(database, made, "late", 9, placeholders=values.version)
    compile_anew(database)
    assert '"ann"' in compiled(database)


def test_there_is_a_bound_on_placeholders(database: Database) -> None:
    for number in range(SIGMA_PLACEHOLDERS_MAX):
        rule_placeholders.put(database, f"p{number}", ["x"], "root", 7)
    with pytest.raises(ConflictError):
        rule_placeholders.put(database, "one more", ["x"], "root", 7)
    assert len(rule_placeholders.listed(database)) == SIGMA_PLACEHOLDERS_MAX


def test_earlier_texts_are_kept_with_who_wrote_them(database: Database) -> None:
    add(database, 0, "ann", 10)
    rules.switch(database, [ID], "bob", 15, enabled=False)
    assert rule_versions.earlier(database, ID) == []
    add(database, 1, "cid", 20)
    (first,) = rule_versions.earlier(database, ID)
    assert (first.revision, first.text_us, first.text_by) == (1, 10, "ann")
    assert "Image: c0" in first.text
    assert rules.get(database, ID).text_by == "cid"
    rules.remove(database, [ID], "bob", 25)
    add(database, 2, "dan", 30)
    assert [one.revision for one in rule_versions.earlier(database, ID)] == [2, 1]


def test_only_the_newest_earlier_texts_are_kept(database: Database) -> None:
    for number in range(SIGMA_VERSIONS_KEPT + 5):
        add(database, number)
    found = rule_versions.earlier(database, ID)
    assert len(found) == SIGMA_VERSIONS_KEPT
    assert f"Image: c{SIGMA_VERSIONS_KEPT + 3}" in found[0].text
    rules.remove(database, [ID], "bob", 1)
    rules.forget_removed(database, 10**18)
    assert rule_versions.earlier(database, ID) == []
