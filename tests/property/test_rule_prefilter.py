"""The prefilter of rules never hides a hit: it is held equal to verifying every rule."""

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.detect.rules import event
from vedette.detect.frequency import FrequencySample
from vedette.detect.nodes import And, FieldTest, IsNull, Keyword, Like, Node, Not, Or, Text
from vedette.detect.rule import Rule
from vedette.detect.rule_set import RuleSet

FIELDS = ("Image", "CommandLine", "User")
WORDS = st.text("aAb.\\", max_size=4)


def _texts() -> st.SearchStrategy[Text]:
    where = st.sampled_from(("equals", "contains", "startswith", "endswith"))
    plain = st.builds(lambda w, v: Text(w, v.lower()), where, WORDS.filter(bool))
    cased = st.builds(lambda w, v: Text(w, v, True), where, WORDS.filter(bool))
    return plain | cased


def _likes() -> st.SearchStrategy[Like]:
    part = st.lists(WORDS.filter(bool).map(str.lower) | st.none(), max_size=2).map(tuple)
    return st.lists(part, min_size=1, max_size=3).map(lambda pieces: Like(tuple(pieces)))


LEAVES: st.SearchStrategy[Node] = st.builds(
    FieldTest, st.sampled_from(FIELDS), _texts() | _likes() | st.just(IsNull())
) | st.builds(Keyword, _texts() | _likes())
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
        sample.add(event(**data))
    for judged in (RuleSet(rules), RuleSet(rules, sample.shares())):
        for data in (*datas, *datas):
            fast = [hit.rule.id for hit in judged.judge(event(**data))]
            assert fast == [hit.rule.id for hit in judged.judge_all(event(**data))]
