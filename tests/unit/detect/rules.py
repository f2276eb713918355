"""Sigma rules of the tests' own making, and events to judge by them."""

from typing import Any

from vedette.detect.rule import Rule
from vedette.detect.sigma.load import load_rules
from vedette.detect.views.event import Event

PROCESS = "windows/process_creation"


def rule_text(detection: str, category: str = "process_creation", **members: str) -> str:
    """A rule with this text below `detection:`, indented by two spaces."""
    more = "".join(f"{name}: {value}\n" for name, value in members.items())
    return (
        f"title: A test\n{more}logsource:\n  product: windows\n  category: {category}\n"
        f"detection:\n{detection}"
    )


def rule(detection: str, **members: str) -> Rule:
    loaded = load_rules(rule_text(detection, **members), "test.yml")
    assert loaded.problems == ()
    return loaded.rules[0]


def event(source: str = PROCESS, **data: Any) -> Event:
    return Event((source,), data, 1_000_000, "p")
