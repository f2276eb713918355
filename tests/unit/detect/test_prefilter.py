"""Selection of candidate rules: values of an event, its context, keywords and measured anchors."""

from typing import Any

import pytest

from tests.unit.detect.rules import PROCESS, rule
from vedette.detect.frequency import FrequencySample
from vedette.detect.rule import Rule
from vedette.detect.rule_set import RuleSet
from vedette.detect.views.event import Event

BY_FIELD = rule("  a: {Image|endswith: '\\\\tool.exe'}\n  condition: a\n")
BY_PARENT = rule("  a: {ParentImage|endswith: '\\\\word.exe'}\n  condition: a\n")
BY_KEYWORD = rule("  a: ['mimikatz', 'sekurlsa::']\n  condition: a\n")
BY_NUMBER = rule("  a: ['4711471147']\n  condition: a\n")
ALL = (BY_FIELD, BY_PARENT, BY_KEYWORD, BY_NUMBER)


def event(data: dict[str, Any], **known: str) -> Event:
    return Event((PROCESS,), data, 1, "p", lambda field: known.get(field, ""))


@pytest.mark.parametrize(
    ("found", "data", "known"),
    [
        ([BY_FIELD], {"Image": "C:\\tool.exe"}, {}),
        ([BY_FIELD], {}, {"Image": "C:\\tool.exe"}),
        ([BY_PARENT], {"Image": "C:\\other.exe"}, {"ParentImage": "C:\\WORD.EXE"}),
        ([BY_PARENT], {"ParentImage": None}, {"ParentImage": "C:\\WORD.EXE"}),
        ([], {"ParentImage": "C:\\x.exe"}, {"ParentImage": "C:\\WORD.EXE"}),
        ([BY_KEYWORD], {"Anything": "run MIMIKATZ now"}, {}),
        ([BY_FIELD, BY_KEYWORD], {"Image": "C:\\mimikatz\\tool.exe"}, {}),
        ([], {"Anything": ""}, {"Anything": "mimikatz"}),
        ([BY_NUMBER], {"Number": 4711471147}, {}),
        ([], {"Number": 471147}, {}),
        # Of a flat record, members that its shipper added are no values of the event.
        ([], {"EventID": 1, "Message": "mimikatz"}, {}),
        ([BY_KEYWORD], {"EventID": 1, "Text": "mimikatz"}, {}),
    ],
)
def test_candidates_are_found_and_no_others(
    found: list[Rule], data: dict[str, Any], known: dict[str, str]
) -> None:
    rules = RuleSet(ALL)
    assert [hit.rule for hit in rules.judge_all(event(data, **known))] == found
    assert rules.firing(event(data, **known)) == found


def test_a_sample_measures_only_what_is_not_known() -> None:
    first = FrequencySample(ALL)
    for image in ("C:\\tool.exe", "C:\\other.exe"):
        first.add(event({"Image": image}))
    shares = first.shares()
    assert {anchor[1].value: share for anchor, share in shares.items()}["\\tool.exe"] == 0.5
    assert not FrequencySample(ALL, shares).is_needed
    more = FrequencySample(
        [*ALL, rule("  a: {Image|endswith: '\\\\new.exe'}\n  condition: a\n")], shares
    )
    more.add(event({"Image": "C:\\new.exe"}))
    assert more.shares() == shares | {
        anchor: 1.0 for anchor in more.shares() if anchor[1].value == "\\new.exe"
    }
