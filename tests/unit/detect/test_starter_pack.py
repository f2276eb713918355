"""The starter pack: every rule fires on what it is for, and not on what only looks like it."""

import json
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest

import vedette.detect
from tests.unit.detect.starter_cases import CASES, WINDOWS
from tests.unit.detect.starter_records import Sent
from vedette.cli.rules.rule_scan import RuleScan
from vedette.detect.rule import Rule
from vedette.detect.sigma.load import load_rules
from vedette.detect.starter_pack import starter_texts

RULES_MIN = 200


@cache
def pack() -> dict[str, Rule]:
    """The rules by the names of their files."""
    found = {}
    for name, text in starter_texts():
        loaded = load_rules(text, name)
        assert loaded.problems == (), name
        (found[Path(name).stem],) = loaded.rules
    return found


def fired(sent: Sent) -> set[str]:
    """Names of the rules that fire on one record."""
    scan = RuleScan(pack().values())
    hits = list(scan.judge([json.dumps(sent).encode()]))
    assert not scan.rejected
    assert scan.events
    return {name for name, rule in pack().items() if any(hit.rule_id == rule.id for hit in hits)}


def test_every_rule_has_its_events() -> None:
    assert set(CASES) == set(pack())
    assert len(CASES) >= RULES_MIN


@pytest.mark.parametrize("name", CASES)
def test_a_rule_fires_on_its_event_and_not_on_one_that_nearly_does(name: str) -> None:
    fires, nearly = CASES[name]
    assert name in fired(fires)
    assert name not in fired(nearly)


def test_every_rule_says_what_people_need_to_know() -> None:
    rules = pack()
    assert len({UUID(rule.id) for rule in rules.values()}) == len(rules)
    assert len({(rule.title, rule.sources) for rule in rules.values()}) == len(rules)
    for name, rule in rules.items():
        product = name.partition("_")[0]
        assert all(source.startswith(f"{product}/") for source in rule.sources), name
        assert (name in WINDOWS) == (product == "windows"), name
        assert rule.techniques, name
        assert rule.level in {"medium", "high", "critical"}, name
        assert rule.description, name
        assert rule.false_positives, name
        assert rule.version, name


def test_the_pack_is_data_of_the_package() -> None:
    folder = Path(vedette.detect.__path__[0]) / "starter"
    assert {file.stem for file in folder.iterdir()} == set(pack())
