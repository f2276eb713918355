"""Semantics of conditions on one event: Sigma's own string semantics."""

from typing import Any

import pytest

from tests.unit.detect.rules import event, rule
from vedette.detect.rule_set import RuleSet

CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("Image: 'C:\\a.exe'", {"Image": "c:\\A.EXE"}, True),
    ("Image: 'a.exe'", {"Image": "C:\\a.exe"}, False),
    ("Image: '*\\a.exe'", {"Image": "C:\\a.exe"}, True),
    ("Image|endswith: '\\a.exe'", {"Image": "C:\\a.exe"}, True),
    ("Image|startswith: 'C:\\a'", {"Image": "c:\\a.exe"}, True),
    ("CommandLine|contains: 'x y'", {"CommandLine": "a X Y b"}, True),
    ("CommandLine|contains|all: ['x', 'y']", {"CommandLine": "y x"}, True),
    ("CommandLine|contains|all: ['x', 'y']", {"CommandLine": "x"}, False),
    ("CommandLine: 'a*b?c'", {"CommandLine": "a--b1c"}, True),
    ("CommandLine: 'a*b?c'", {"CommandLine": "a--bc"}, False),
    ("CommandLine|re: 'a[0-9]+'", {"CommandLine": "xa12"}, True),
    ("CommandLine|re: 'a[0-9]+'", {"CommandLine": "xA12"}, False),
    ("CommandLine|re|i: 'a[0-9]+'", {"CommandLine": "xA12"}, True),
    ("CommandLine|contains|cased: 'Ab'", {"CommandLine": "xAb"}, True),
    ("CommandLine|contains|cased: 'Ab'", {"CommandLine": "xab"}, False),
    ("DestinationIp|cidr: 10.0.0.0/8", {"DestinationIp": "10.2.3.4"}, True),
    ("DestinationIp|cidr: 10.0.0.0/8", {"DestinationIp": "11.2.3.4"}, False),
    ("DestinationIp|cidr: 10.0.0.0/8", {"DestinationIp": "::ffff:10.2.3.4"}, True),
    ("DestinationIp|cidr: 10.0.0.0/8", {"DestinationIp": "no address"}, False),
    ("DestinationPort|gte: 1024", {"DestinationPort": "1024"}, True),
    ("DestinationPort|lt: 1024", {"DestinationPort": 1024}, False),
    ("DestinationPort: 443", {"DestinationPort": "443"}, True),
    ("Initiated: true", {"Initiated": "true"}, True),
    ("User: null", {}, True),
    ("User: null", {"User": "x"}, False),
    ("User|exists: true", {"User": ""}, True),
    ("User|exists: false", {"User": ""}, False),
    ("Image|fieldref: ParentImage", {"Image": "A", "ParentImage": "a"}, True),
    ("CommandLine|windash|contains: ' -x'", {"CommandLine": "a /x"}, True),
    (
        "CommandLine|base64offset|contains: 'attack'",
        {"CommandLine": "powershell -enc eGF0dGFjaw=="},
        True,
    ),
]


@pytest.mark.parametrize(("test", "data", "fires"), CASES)
def test_a_selection_means_what_sigma_says(test: str, data: dict[str, Any], fires: bool) -> None:
    judged = RuleSet([rule(f"  a:\n    {test}\n  condition: a\n")])
    assert bool(judged.judge(event(**data))) is fires
    assert bool(judged.judge_all(event(**data))) is fires


def test_conditions_are_combined_and_negated() -> None:
    judged = RuleSet(
        [
            rule(
                "  a:\n    Image|endswith: '\\a.exe'\n  b1:\n    User: x\n  b2:\n    User: y\n"
                "  condition: a and not 1 of b*\n"
            )
        ]
    )
    assert judged.judge(event(Image="c:\\a.exe", User="z"))
    assert not judged.judge(event(Image="c:\\a.exe", User="y"))


def test_a_selection_holds_within_one_event() -> None:
    judged = RuleSet([rule("  a:\n    Image: x\n    User: y\n  condition: a\n")])
    assert not judged.judge(event(Image="x", User="z"))
    assert not judged.judge(event(Image="z", User="y"))


def test_keywords_are_looked_for_in_every_value() -> None:
    judged = RuleSet([rule("  a:\n    - 'evil tool'\n    - other\n  condition: a\n")])
    (hit,) = judged.judge(event(Anything="An EVIL tool."))
    assert hit.matched == {"Anything": "An EVIL tool."}


@pytest.mark.parametrize("keyword", ["evil tool*", "*evil tool", "*evil tool*", "ev?l*tool"])
def test_wildcards_at_the_ends_of_keywords_do_not_anchor_them(keyword: str) -> None:
    judged = RuleSet([rule(f"  a:\n    - '{keyword}'\n    - other\n  condition: a\n")])
    assert judged.judge(event(Anything="An EVIL tool."))
    assert not judged.judge(event(Anything="An evil fool."))


@pytest.mark.parametrize("wanted", ["Error", "2", "error"])
def test_levels_of_the_event_log_are_named_or_numbered(wanted: str) -> None:
    judged = RuleSet([rule(f"  a:\n    Level: {wanted}\n  condition: a\n")])
    assert judged.judge(event(Level="2"))
    assert judged.judge(event(Level="Error"))
    assert not judged.judge(event(Level="3"))


@pytest.mark.parametrize("wanted", ["tcp", "6", "TCP"])
def test_protocols_are_named_or_numbered(wanted: str) -> None:
    judged = RuleSet([rule(f"  a:\n    Protocol: {wanted}\n  condition: a\n")])
    assert judged.judge(event(Protocol="6"))
    assert judged.judge(event(Protocol="tcp"))
    assert not judged.judge(event(Protocol="udp"))


def test_a_hit_tells_the_values_that_made_it_fire() -> None:
    judged = RuleSet(
        [rule("  a:\n    Image|endswith: x\n  b:\n    User: y\n  condition: a and not b\n")]
    )
    (hit,) = judged.judge(event(Image="C:\\X", User="z", CommandLine="c"))
    assert (hit.matched, hit.process_id, hit.time_us) == ({"Image": "C:\\X"}, "p", 1_000_000)


def test_a_rule_is_asked_of_events_of_its_class_only() -> None:
    judged = RuleSet([rule("  a:\n    Image: x\n  condition: a\n")])
    assert not judged.judge(event("windows/file_event", Image="x"))
    assert not judged.wants(("windows/file_event",))
