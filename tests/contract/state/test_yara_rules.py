"""Texts of YARA rules, on both databases."""

import pytest

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.state.db.database import Database
from vedette.state.files import yara_rules
from vedette.state.files.yara_rules import YARA_ALL_BYTES_MAX

NOW_US = 1_700_000_000_000_000


def test_a_text_is_kept_changed_and_removed(database: Database) -> None:
    yara_rules.save(database, "one", "ann", NOW_US, text="rule a { condition: true }")
    before = yara_rules.marks(database)
    changed = yara_rules.save(database, "one", "bob", NOW_US + 1, enabled=False)
    assert (changed.username, changed.is_in_force) == ("bob", False)
    assert changed.text == "rule a { condition: true }"
    assert yara_rules.marks(database) != before
    yara_rules.remove(database, "one")
    assert yara_rules.all_rules(database) == []
    with pytest.raises(NotFoundError):
        yara_rules.remove(database, "one")


def test_a_text_is_stopped_unless_it_was_changed_meanwhile(database: Database) -> None:
    known = yara_rules.save(database, "slow", "ann", NOW_US, text="rule a { condition: true }")
    yara_rules.save(database, "slow", "ann", NOW_US + 1, text="rule a { condition: false }")
    yara_rules.stop(database, "slow", known.digest, "too slow")
    assert yara_rules.get(database, "slow").is_in_force
    now = yara_rules.get(database, "slow")
    yara_rules.stop(database, "slow", now.digest, "too slow")
    stopped = yara_rules.get(database, "slow")
    assert (stopped.is_in_force, stopped.problem) == (False, "too slow")
    assert yara_rules.save(database, "slow", "ann", NOW_US + 2, enabled=True).is_in_force


def test_all_texts_together_have_a_bound(database: Database) -> None:
    half = "x" * (YARA_ALL_BYTES_MAX // 2)
    yara_rules.save(database, "one", "ann", NOW_US, text=half)
    yara_rules.save(database, "two", "ann", NOW_US, text=half)
    yara_rules.save(database, "two", "ann", NOW_US, text=half)
    with pytest.raises(ConflictError):
        yara_rules.save(database, "three", "ann", NOW_US, text="x")
    assert {one.name for one in yara_rules.all_rules(database)} == {"one", "two"}


@pytest.mark.parametrize("name", ["", "..", "a/b", "-a", "a b", "x" * 65, "\0"])
def test_a_name_that_is_none_is_refused(database: Database, name: str) -> None:
    with pytest.raises(BadRequestError):
        yara_rules.save(database, name, "ann", NOW_US, text="rule a { condition: true }")
