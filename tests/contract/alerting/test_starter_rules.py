"""The starter pack is added once; what people did to its rules stays."""

import pytest

from vedette.alerting import starter_rules
from vedette.alerting.rule_import import import_rules
from vedette.alerting.rule_messages import RuleFile
from vedette.alerting.starter_rules import install_starter
from vedette.detect.starter_pack import starter_texts
from vedette.state.db.database import Database
from vedette.state.policy import rules
from vedette.state.policy.rules import Wanted


def test_a_new_version_changes_only_what_nobody_touched(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = list(starter_texts())[:5]
    monkeypatch.setattr(starter_rules, "starter_texts", lambda: texts)
    assert install_starter(database, 1) == 5
    assert install_starter(database, 2) == 0
    kept = rules.page(database, Wanted(origin="starter"), 0, 10).rules
    assert [one.state(one.generation) for one in kept] == ["in_force"] * 5
    by_text = {one.rule.text: one.rule.id for one in kept}
    deleted, off, own, *_ = (by_text[text] for _, text in texts)
    rules.remove(database, [deleted], "ann", 3)
    rules.switch(database, [off], "ann", 3, enabled=False)
    changed = texts[2][1].replace("title: ", "title: Our ", 1)
    import_rules(database, [RuleFile("mine.yml", changed, "")], "ann", 3)
    rules.forget_removed(database, 10**15)
    texts = [(name, text.replace("title: ", "title: New ", 1)) for name, text in texts]
    monkeypatch.setattr(starter_rules, "starter_texts", lambda: texts)
    assert install_starter(database, 4) == 3
    now = {one.rule.id: one for one in rules.page(database, Wanted(), 0, 10).rules}
    assert deleted not in now
    assert (now[off].enabled, now[off].rule.title[:4], now[off].revision) == (False, "New ", 2)
    assert now[own].rule.title.startswith("Our ")
