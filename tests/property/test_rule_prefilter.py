"""The prefilter of rules never hides a hit: it is held equal to verifying every rule."""

import re2
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.detect.rules import PROCESS
from vedette.detect.anchors import all_anchors
from vedette.detect.expression import compile_expression
from vedette.detect.frequency import FrequencySample
from vedette.detect.nodes import (
    And,
    Compare,
    FieldTest,
    IsNull,
    Keyword,
    Like,
    Network,
    Node,
    Not,
    Or,
    Regex,
    SameAs,
    Text,
)
from vedette.detect.prefilter import KeywordIndex, ValueCaches
from vedette.detect.regex_literals import literals_of
from vedette.detect.rule import Rule
from vedette.detect.rule_set import RuleSet
from vedette.detect.verify import compile_condition
from vedette.detect.views.answered import COLUMN_OF
from vedette.detect.views.event import Event

FIELDS = ("Image", "CommandLine", "User")
WORDS = st.text("aAbsS\u017f\u03a3\u0130.\\", max_size=4)
IDS = (1, 4688)


def event(data: dict[str, str | int], event_id: int = 0) -> Event:
    """An event that knows its number in itself too, as flat records do, or not at all."""

    def lookup(field: str) -> str:
        return str(event_id) if event_id and field == "EventID" else ""

    return Event((PROCESS,), data, 1_000_000, "p", lookup, event_id)


def _texts() -> st.SearchStrategy[Text]:
    where = st.sampled_from(("equals", "contains", "startswith", "endswith"))
    plain = st.builds(lambda w, v: Text(w, v.lower()), where, WORDS.filter(bool))
    cased = st.builds(lambda w, v: Text(w, v, True), where, WORDS.filter(bool))
    return plain | cased


def _likes() -> st.SearchStrategy[Like]:
    part = st.lists(WORDS.filter(bool).map(str.lower) | st.none(), max_size=2).map(tuple)
    return st.lists(part, min_size=1, max_size=3).map(lambda pieces: Like(tuple(pieces)))


def _is_pattern(pattern: str) -> bool:
    try:
        re2.compile(pattern)
    except re2.error:
        return False
    return True


_PIECES = st.sampled_from(
    (
        "a",
        "b",
        "ab",
        "s",
        "S",
        ".",
        "\\.",
        "\\\\",
        "\\d",
        "[ab]",
        "[^]a]",
        "^",
        "$",
        "(?i)",
        "(?:a|bs)",
        "(",
        ")",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "{0,1}",
        "{1,}",
        "()",
        "(ab)?",
        "(a|)",
        "\\x61",
        "]",
        "}",
    )
)
PATTERNS = st.lists(_PIECES, max_size=7).map("".join).filter(_is_pattern)
REGEXES = st.builds(Regex, PATTERNS, st.sampled_from(("", "i", "s")))

LEAVES: st.SearchStrategy[Node] = (
    st.builds(FieldTest, st.sampled_from(FIELDS), _texts() | _likes() | REGEXES | st.just(IsNull()))
    | st.builds(Keyword, _texts() | _likes() | REGEXES)
    | st.sampled_from(IDS).map(lambda one: FieldTest("EventID", Text("equals", str(one))))
    | st.sampled_from(
        (
            FieldTest("User", SameAs("Image", "contains")),
            FieldTest("User", Compare("lt", 3.0)),
            FieldTest("User", Network("0.0.0.0/1")),
        )
    )
)
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda some: And(tuple(some)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda some: Or(tuple(some)))
        | inner.map(Not)
    ),
    max_leaves=6,
)
EVENTS = st.dictionaries(st.sampled_from(FIELDS), WORDS | st.integers(0, 30), max_size=3)


@given(st.lists(CONDITIONS, min_size=1, max_size=6), st.lists(EVENTS, min_size=1, max_size=6))
def test_prefiltered_judgement_equals_verifying_every_rule(
    conditions: list[Node], datas: list[dict[str, str | int]]
) -> None:
    rules = [
        Rule(str(number), "", "low", ("windows/process_creation",), condition)
        for number, condition in enumerate(conditions)
    ]
    sample = FrequencySample(rules)
    for data in datas:
        sample.add(event(data))
    for judged in (RuleSet(rules), RuleSet(rules, sample.shares())):
        for data in (*datas, *datas):
            for number in (0, *IDS):
                fast = [hit.rule.id for hit in judged.judge(event(data, number))]
                assert fast == [hit.rule.id for hit in judged.judge_all(event(data, number))]


@given(st.lists(CONDITIONS, min_size=1, max_size=6), EVENTS, EVENTS)
def test_candidates_are_the_same_before_the_event_is_made(
    conditions: list[Node], data: dict[str, str | int], facts: dict[str, str | int]
) -> None:
    rules = [
        Rule(str(number), "", "low", (PROCESS,), condition)
        for number, condition in enumerate(conditions)
    ]
    columns = {COLUMN_OF[field]: value for field, value in facts.items()}
    for number in (0, *IDS):
        known = {**facts, "EventID": str(number) if number else ""}

        def lookup(field: str, known: dict[str, str | int] = known) -> str:
            return str(known.get(field, ""))

        one = Event((PROCESS,), data, 1_000_000, "p", lookup, number)
        judged = RuleSet(rules)
        found = judged.candidates_of((PROCESS,), number, data, lambda: columns, lambda one=one: one)
        fired = judged.firing_among(found, one)
        assert fired == [hit.rule for hit in judged.judge_all(one)]
        assert fired == RuleSet(rules).firing(one)


VALUES = st.text("abSs1\u017f\u03a3\u0130\n.", max_size=9) | st.integers(0, 120) | st.none()
NAMES = st.sampled_from(("User", "Image", "1", "2", "3"))


@given(st.lists(_texts(), min_size=1), st.dictionaries(NAMES, VALUES))
def test_a_keyword_of_any_value_occurs_in_all_values_as_one_text(
    tests: list[Text], data: dict[str, str | int | None]
) -> None:
    anchors = {
        anchor[1]: [0] for test in tests for anchor in all_anchors(Keyword(test)) if test.value
    }
    if not anchors:
        return
    index = KeywordIndex(anchors, ValueCaches())
    known = Event(
        (PROCESS,), data, 1, "p", lambda field: "ab.s" if field in ("User", "Image") else ""
    )
    assert index.may_occur(data) or not index.in_values(known)


@given(CONDITIONS, EVENTS)
def test_an_expression_says_what_the_condition_says(
    condition: Node, data: dict[str, str | int]
) -> None:
    one = event(data)
    said = compile_expression(condition)(one, one.originals(), one.lowered())
    assert bool(said) is compile_condition(condition)(event(data))


@given(REGEXES, st.text("abABsS\u017f.\\|(1", max_size=8))
def test_what_a_pattern_finds_has_its_literals(regex: Regex, text: str) -> None:
    needed = literals_of("Image", regex)
    found = compile_condition(FieldTest("Image", regex))(event({"Image": text}))
    if needed is not None and found:
        folded = {"Image": text.replace("\u017f", "s")}
        assert compile_condition(needed)(event(folded))
