"""Correlations of random hits find what an independent look at all windows finds, whatever the
order in which the hits arrive."""

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from vedette.detect.correlation import (
    Correlation,
    CorrelationType,
    Finding,
    GroupState,
    Observed,
    observe,
)

SPAN_US = 10
KINDS: tuple[CorrelationType, ...] = (
    "event_count",
    "value_count",
    "temporal",
    "temporal_ordered",
)

hits = st.lists(
    st.builds(
        Observed,
        time_us=st.integers(100, 140),
        rule=st.integers(0, 2),
        value=st.sampled_from("abc"),
        count=st.integers(1, 2),
    ),
    max_size=14,
)


def correlation(kind: CorrelationType, count: int) -> Correlation:
    return Correlation(
        id="c",
        title="c",
        level="high",
        kind=kind,
        rules=("x", "y", "z"),
        group_by=(),
        timespan_us=SPAN_US,
        operator="gte",
        count=3 if kind == "temporal_ordered" else count,
    )


def findings(rule: Correlation, observed: list[Observed]) -> list[Finding]:
    state = GroupState()
    found = [observe(rule, state, one) for one in observed]
    return [one for one in found if one is not None]


def holds(rule: Correlation, window: list[Observed]) -> bool:
    """Evaluates a correlation naively, from its documentation."""
    match rule.kind:
        case "event_count":
            return sum(one.count for one in window) >= rule.count
        case "value_count":
            return len({one.value for one in window}) >= rule.count
        case "temporal":
            return len({one.rule for one in window}) >= rule.count
    return any(
        x.time_us <= y.time_us <= z.time_us
        for x in window
        for y in window
        for z in window
        if (x.rule, y.rule, z.rule) == (0, 1, 2)
    )


def any_window(rule: Correlation, observed: list[Observed]) -> bool:
    return any(
        holds(rule, [one for one in observed if start <= one.time_us <= start + SPAN_US])
        for start in {one.time_us for one in observed}
    )


@given(hits, st.sampled_from(KINDS), st.integers(1, 5))
def test_something_is_found_exactly_when_some_window_holds(
    observed: list[Observed], kind: CorrelationType, count: int
) -> None:
    rule = correlation(kind, count)
    in_order = sorted(observed, key=lambda one: one.time_us)
    found = findings(rule, in_order)
    assert bool(found) == any_window(rule, observed)
    for one in found:
        assert holds(rule, list(one.observed))
        assert one.last_us - one.first_us <= SPAN_US


@given(hits, st.sampled_from(KINDS), st.integers(1, 5), st.randoms(use_true_random=False))
def test_hits_that_are_late_by_less_than_a_span_change_nothing(
    observed: list[Observed], kind: CorrelationType, count: int, dice: object
) -> None:
    rule = correlation(kind, count)
    random = dice.random  # type: ignore[attr-defined]
    late = sorted(observed, key=lambda one: one.time_us + random() * SPAN_US)
    assert bool(findings(rule, late)) == any_window(rule, observed)


@given(hits, st.sampled_from(KINDS), st.integers(1, 5))
def test_findings_share_no_hit_and_lie_a_span_apart(
    observed: list[Observed], kind: CorrelationType, count: int
) -> None:
    found = findings(correlation(kind, count), sorted(observed, key=lambda one: one.time_us))
    begins = [one.first_us for one in found]
    assert all(other - one > SPAN_US for one, other in pairwise(begins))


@given(hits, st.sampled_from(KINDS), st.integers(1, 5))
def test_a_state_that_was_stored_and_read_back_goes_on(
    observed: list[Observed], kind: CorrelationType, count: int
) -> None:
    rule = correlation(kind, count)
    state, whole = GroupState(), GroupState()
    for one in observed:
        state = msgspec.json.decode(msgspec.json.encode(state), type=GroupState)
        assert observe(rule, state, one) == observe(rule, whole, one)


def test_a_group_remembers_no_more_than_its_rule_needs() -> None:
    rule, state = correlation("event_count", 5), GroupState()
    for n in range(10_000):
        observe(rule, state, Observed(100 + 100 * n, 0))
    assert len(state.observed) <= 10
    values = correlation("value_count", 5)
    for n in range(10_000):
        observe(values, state, Observed(100 + n // 1_000, 0, "same"))
    assert len(state.observed) <= 2_000
    state = GroupState()
    for n in range(3):
        observe(values, state, Observed(110, 0, f"first {n}"))
    for _ in range(10_000):
        assert observe(values, state, Observed(111, 0, "again")) is None
    assert observe(values, state, Observed(112, 0, "last")) is not None
