"""Placeholders of rules: every modifier sees the values, and none the name."""

import pytest

from tests.unit.detect.rules import rule_text
from vedette.detect.nodes import Node
from vedette.detect.sigma.load import load_rules
from vedette.detect.sigma.placeholders import SIGMA_EXPANSIONS_MAX

VALUES = {"admins": ("root", "adm*"), "one": ("x",), "net": ("10.0.0.0/8",), "re": ("a+", "b")}


def loaded(selection: str) -> Node | str:
    """The condition of a rule with this selection, or the reason why there is none."""
    found = load_rules(rule_text(f"  a:\n{selection}\n  condition: a\n"), "a.yml", VALUES)
    return found.rules[0].condition if found.rules else found.problems[0].reason


@pytest.mark.parametrize(
    ("selection", "same_as"),
    [
        ("    User|expand: '%admins%'", "    User: [root, 'adm*']"),
        ("    User|contains|expand: 'a%one%b'", "    User|contains: axb"),
        ("    User|expand|contains: '%one%%one%'", "    User|contains: xx"),
        ("    User|expand: ['%one%', y, 7]", "    User: [x, y, 7]"),
        ("    User|expand: '%admins%%re%'", "    User: [roota+, rootb, 'adm*a+', 'adm*b']"),
        ("    User|expand|base64: '%one%'", "    User|base64: x"),
        ("    User|re|expand: '^%re%$'", "    User|re: ['^a+$', '^b$']"),
        ("    User|expand|re: '^%re%$'", "    User|re: ['^a+$', '^b$']"),
        ("    User|cased|expand: '%one%'", "    User|cased: x"),
        ("    DestinationIp|expand|cidr: '%net%'", "    DestinationIp|cidr: 10.0.0.0/8"),
        ("    User|expand|fieldref: '%one%'", "    User|fieldref: x"),
        ("    '|expand': '%one%'", "    - x"),
        ("    - User|expand: '%one%'\n    - Image: b", "    - User: x\n    - Image: b"),
        ("    User|expand: '100%'", "    User: '100%'"),
        ("    User: '%one%'", "    User: '%one%'"),
        (
            "    User|contains|all|expand: ['%admins%', b]\n    Image: c",
            "    - User|contains|all: [root, b]\n      Image: c\n"
            "    - User|contains|all: ['adm*', b]\n      Image: c",
        ),
    ],
)
def test_a_placeholder_is_what_its_values_would_be(selection: str, same_as: str) -> None:
    condition = loaded(selection)
    assert not isinstance(condition, str), condition
    assert condition == loaded(same_as)


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        ("    User|expand: '%nobody%'", "unresolved_placeholder"),
        ("    User|expand|base64: '%nobody%'", "unresolved_placeholder"),
        ("    User|re|expand: '%nobody%.*'", "unresolved_placeholder"),
        ("    User|expand|fieldref: '%nobody%'", "unresolved_placeholder"),
        ("    User|expand: '%one%'\n    User: y", "unsupported_placeholder"),
        ("    User|expand: '" + "%admins%" * 20 + "'", "too_large"),
        ("    User|all|expand: [" + ", ".join(["'%admins%'"] * 30) + "]", "too_large"),
        ("    User|expand|re: '(%re%'", "unsupported_regex"),
    ],
)
def test_what_cannot_be_replaced_is_refused(selection: str, reason: str) -> None:
    assert loaded(selection) == reason


def test_many_maps_of_alternatives_are_refused() -> None:
    lines = [f"    F{n}|all|expand: ['%admins%', b]" for n in range(20)]
    assert 2 ** len(lines) > SIGMA_EXPANSIONS_MAX
    assert loaded("\n".join(lines)) == "too_large"
