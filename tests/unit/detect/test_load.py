"""Sigma files to rules: what is loaded, and what is refused with which reason."""

from base64 import b64encode

import pytest

from tests.unit.detect.rules import event, rule, rule_text
from vedette.detect.rule import Rule
from vedette.detect.rule_codec import decoded_rule, encoded_rule
from vedette.detect.rule_set import RuleSet
from vedette.detect.sigma.load import load_documents, load_rules
from vedette.limits import SIGMA_FILE_CHARS_MAX

PLAIN = "  a:\n    Image|endswith: '\\x.exe'\n  condition: a\n"


def test_level_techniques_and_notes_stay_on_the_rule() -> None:
    found = rule(
        PLAIN,
        level="high",
        modified="2026-01-02",
        tags="[attack.execution, attack.t1059.001]",
        falsepositives="[Administrators]",
    )
    assert (found.level, found.version, found.techniques) == ("high", "2026-01-02", ("T1059.001",))
    assert found.false_positives == ("Administrators",)
    assert found.sources == ("windows/process_creation",)
    assert found.fields == {"Image"}


def test_a_rule_without_an_id_has_the_same_one_each_time() -> None:
    assert rule(PLAIN).id == rule(PLAIN).id != rule(PLAIN.replace("x.exe", "y.exe")).id


def test_one_bad_rule_costs_only_itself() -> None:
    bad = rule_text("  a:\n    Image: x\n  condition: nothing_there\n")
    loaded = load_rules(f"{rule_text(PLAIN)}---\n{bad}---\n{rule_text(PLAIN)}", "three.yml")
    assert len(loaded.rules) == 2
    assert [problem.source for problem in loaded.problems] == ["three.yml#2"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [", "not_yaml"),
        ("- a\n- b\n", "malformed"),
        ("title: no detection\n", "malformed"),
        ("a: &x [1]\nb: *x\n", "not_yaml"),
        (rule_text(PLAIN).replace("process_creation", "no_such"), "unsupported_logsource"),
        (rule_text("  a:\n    Image|re: '(?=x)'\n  condition: a\n"), "unsupported_regex"),
        (rule_text("  a:\n    Image|expand: '%x%'\n  condition: a\n"), "unresolved_placeholder"),
        (rule_text("  a:\n    UtcTime|hour: 3\n  condition: a\n"), "unsupported_modifier"),
        (rule_text("  a:\n    UtcTime|year: 2024\n  condition: a\n"), "unsupported_modifier"),
        (
            rule_text("  a:\n    Image|utf16le|contains: x\n  condition: a\n"),
            "unsupported_modifier",
        ),
        (rule_text("  a:\n    Image|wide: x\n  condition: a\n"), "unsupported_modifier"),
        (rule_text("  a:\n    Image|wide|base64: ü\n  condition: a\n"), "malformed"),
        ("action: repeat\n", "unsupported_document"),
        ("title: c\ncorrelation:\n  type: event_count\n", "malformed"),
        ("x" * (SIGMA_FILE_CHARS_MAX + 1), "too_large"),
    ],
)
def test_what_cannot_be_evaluated_is_listed_with_its_reason(text: str, reason: str) -> None:
    loaded = load_rules(text, "bad.yml")
    assert loaded.rules == ()
    assert [problem.reason for problem in loaded.problems] == [reason]


GLOBAL = (
    "action: global\ntitle: Shared\nid: 5c1f0a52-4a3e-4a56-9a33-000000000001\nlevel: high\n"
    "logsource:\n  product: windows\ndetection:\n  condition: a\n"
)
FIRST = "logsource:\n  category: process_creation\ndetection:\n  a:\n    Image|endswith: x.exe\n"
SECOND = "# of the log\nlogsource:\n  service: security\ndetection:\n  a:\n    EventID: 4688\n"


def test_a_global_document_is_merged_into_the_rules_after_it() -> None:
    first, second = load_documents(f"{GLOBAL}---\n{FIRST}---\n{SECOND}", "two.yml")
    assert first.problem is None
    assert second.problem is None
    assert isinstance(first.rule, Rule)
    assert isinstance(second.rule, Rule)
    assert (first.rule.sources, second.rule.sources) == (
        ("windows/process_creation",),
        ("windows//security",),
    )
    assert (first.title, second.title, first.level) == ("Shared", "Shared", "high")
    assert (first.place, second.place) == ("two.yml#2", "two.yml#3")
    assert first.id == "5c1f0a52-4a3e-4a56-9a33-000000000001" != second.id


def test_a_merged_rule_loads_as_the_same_rule_on_its_own() -> None:
    for one in load_documents(f"{GLOBAL}---\n{FIRST}---\n{SECOND}", "two.yml"):
        (again,) = load_documents(one.text, "again.yml")
        assert (again.id, again.rule, again.text) == (one.id, one.rule, one.text)


def test_a_reset_ends_a_global_document() -> None:
    text = f"{GLOBAL}---\n{FIRST}---\naction: reset\n---\n{rule_text(PLAIN)}"
    loaded = load_rules(text, "r.yml")
    assert loaded.problems == ()
    assert [one.title for one in loaded.rules] == ["Shared", "A test"]


def test_the_text_of_merged_rules_is_limited() -> None:
    long = GLOBAL + "description: " + "x" * 100_000 + "\n"
    loaded = load_rules(long + f"---\n{FIRST}" * 60, "long.yml")
    assert 0 < len(loaded.rules) < 60
    assert {one.reason for one in loaded.problems} == {"too_large"}


@pytest.mark.parametrize(
    ("modifiers", "codec"),
    [("wide", "utf-16-le"), ("utf16le", "utf-16-le"), ("utf16be", "utf-16-be")],
)
@pytest.mark.parametrize("padding", [0, 1, 2, 3])
def test_encoded_text_is_found_at_each_offset_of_base64(
    modifiers: str, codec: str, padding: int
) -> None:
    found = rule(
        f"  a:\n    CommandLine|{modifiers}|base64offset|contains: Invoke-Unit\n  condition: a\n"
    )
    bytes_ = b" " * padding + "Invoke-Unit".encode(codec) + b"  "
    text = f"powershell -enc {b64encode(bytes_).decode()}"
    rules = RuleSet([found])
    assert rules.firing(event(CommandLine=text)) == [found]
    assert rules.firing(event(CommandLine="powershell -enc Invoke-Unit")) == []


def test_text_in_utf16_with_a_byte_order_mark_is_found_in_base64() -> None:
    found = rule("  a:\n    Data|utf16|base64|contains: Invoke-Unit\n  condition: a\n")
    text = b64encode("\ufeffInvoke-Unit".encode("utf-16-le")).decode()
    assert RuleSet([found]).firing(event(Data=text)) == [found]


@pytest.mark.parametrize("kind", ["obsolete", "obsoletes"])
def test_a_rule_names_the_rules_that_it_replaces(kind: str) -> None:
    old = "5c1f0a52-4a3e-4a56-9a33-000000000009"
    found = rule(PLAIN, related=f"[{{id: {old}, type: {kind}}}]")
    assert found.obsoletes == (old,)
    assert decoded_rule(encoded_rule(found)) == found


def test_aliases_are_refused_before_they_are_followed() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + level)}: &{chr(98 + level)} [{', '.join(['*' + chr(97 + level)] * 9)}]\n"
        for level in range(20)
    )
    (problem,) = load_rules(bomb, "bomb.yml").problems
    assert (problem.reason, "aliases" in problem.message) == ("not_yaml", True)
