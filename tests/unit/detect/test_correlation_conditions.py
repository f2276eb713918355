"""Conditions of correlations: which are converted, which are rejected, what metrics mean."""

import pytest

from vedette.detect.correlation import Correlation, GroupState, Observed, observe
from vedette.detect.rule_codec import decoded_correlation, encoded_correlation
from vedette.detect.sigma.load import Document, load_documents

RULES = "[logon, spray, shell]"


def loaded(kind: str, condition: str, timespan: str = "10s", rules: str = RULES) -> Document:
    text = (
        "title: A test\nid: 5c1f0a52-4a3e-4a56-9a33-000000000051\n"
        f"correlation:\n  type: {kind}\n  rules: {rules}\n  timespan: {timespan}\n"
        f"  condition: {condition}\n"
    )
    (document,) = load_documents(text, "c.yml")
    return document


def correlation(kind: str, condition: str, timespan: str = "10s") -> Correlation:
    rule = loaded(kind, condition, timespan).rule
    assert isinstance(rule, Correlation)
    assert decoded_correlation(encoded_correlation(rule)) == rule
    return rule


def first_finding(rule: Correlation, hits: list[Observed]) -> int | None:
    """The number of hits after which the correlation finds something."""
    state = GroupState()
    for number, one in enumerate(hits, 1):
        if observe(rule, state, one) is not None:
            return number
    return None


def values(*texts: str, count: int = 1) -> list[Observed]:
    return [Observed(1_000_000 * n, 0, text, count) for n, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("kind", "condition", "hits", "found"),
    [
        ("value_sum", "{field: Bytes, gte: 100}", values("40", "40", "20"), 3),
        ("value_sum", "{field: Bytes, gt: 100}", values("40", "40", "20"), None),
        ("value_sum", "{field: Bytes, gte: 100}", values("50", count=2), 1),
        ("value_sum", "{field: Bytes, gte: 9}", values("x", "-9", "inf", "nan", "5", "4"), 6),
        ("value_avg", "{field: Bytes, gt: 2.5}", values("1", "2", "6"), 3),
        ("value_avg", "{field: Bytes, lt: 4}", values("4", "3"), 2),
        ("value_avg", "{field: Bytes, neq: 4}", values("4", "4", "5"), 3),
        ("value_avg", "{field: Bytes, lte: 4}", values("x"), None),
        ("value_median", "{field: Bytes, gte: 5}", values("1", "1", "9", "9", "9"), 4),
        ("value_median", "{field: Bytes, eq: 5}", values("1", "9"), 2),
        ("value_percentile", "{field: Bytes, gte: 9, percentile: 50}", values("1", "9", "9"), 3),
        ("value_percentile", "{field: Bytes, gte: 9, percentile: 100}", values("1", "9"), 2),
    ],
)
def test_a_metric_is_compared_over_the_hits_of_its_span(
    kind: str, condition: str, hits: list[Observed], found: int | None
) -> None:
    assert first_finding(correlation(kind, condition), hits) == found


def test_hits_before_the_span_do_not_count_for_a_metric() -> None:
    rule = correlation("value_sum", "{field: Bytes, gte: 100}")
    hits = [Observed(1, 0, "60"), Observed(11_000_002, 0, "60"), Observed(12_000_000, 0, "60")]
    assert first_finding(rule, hits) == 3


def test_a_metric_remembers_a_limited_number_of_hits() -> None:
    rule, state = correlation("value_sum", "{field: Bytes, gte: 1000000}"), GroupState()
    for n in range(3_000):
        observe(rule, state, Observed(n, 0, "1"))
    assert len(state.observed) == 1_000


@pytest.mark.parametrize(
    ("condition", "fired", "found"),
    [
        ("logon and (spray or shell)", (0, 2), True),
        ("logon and (spray or shell)", (1, 2), False),
        ("logon and spray or shell", (2,), True),
        ("logon or (spray and shell)", (1, 0), True),
    ],
)
def test_an_extended_condition_is_evaluated_over_the_rules_that_fired(
    condition: str, fired: tuple[int, ...], found: bool
) -> None:
    rule = correlation("temporal", condition)
    assert rule.rules == ("logon", "spray", "shell")
    hits = [Observed(n + 1, place) for n, place in enumerate(fired)]
    assert (first_finding(rule, hits) is not None) is found


@pytest.mark.parametrize("timespan", ["30d", "1M"])
def test_spans_of_a_month_are_accepted(timespan: str) -> None:
    assert correlation("event_count", "{gte: 5}", timespan).timespan_us >= 30 * 86_400_000_000


@pytest.mark.parametrize(
    ("kind", "condition", "reason", "part"),
    [
        ("event_count", "{lt: 5}", "unsupported_correlation", "lt of event_count is only certain"),
        ("event_count", "{lte: 5}", "unsupported_correlation", "time span has ended"),
        ("value_count", "{neq: 5, field: x}", "unsupported_correlation", "neq of value_count"),
        ("temporal", "{lt: 2}", "unsupported_correlation", "lt of temporal"),
        ("value_sum", "{lt: 5, field: x}", "unsupported_correlation", "lt of value_sum"),
        ("value_sum", "{gte: 5, field: [x, y]}", "malformed", "one field"),
        ("value_percentile", "{gte: 5, field: x}", "malformed", "percentile"),
        ("value_percentile", "{gte: 5, field: x, percentile: 101}", "malformed", "1 to 100"),
        ("value_avg", "{gte: 5, field: x, percentile: 5}", "malformed", "percentile"),
        ("temporal", "logon and spray and not shell", "unsupported_correlation", "not is only"),
        ("temporal", "logon and (spray or shell", "malformed", "not closed"),
        ("temporal", "logon and spray and", "malformed", "ends after"),
        ("temporal", "logon spray shell", "malformed", "unexpected 'spray'"),
        ("temporal", "logon and spray", "malformed", "rules of the list"),
        ("temporal_ordered", "logon and spray and shell", "unsupported_correlation", "temporal"),
        ("temporal", "(" * 40 + "logon" + ")" * 40, "too_large", "deeply"),
        ("temporal", "logon or " * 1_000 + "logon", "too_large", "longer than"),
    ],
)
def test_a_condition_that_cannot_be_evaluated_is_rejected_with_the_reason(
    kind: str, condition: str, reason: str, part: str
) -> None:
    problem = loaded(kind, condition).problem
    assert problem is not None
    assert (problem.reason, part in problem.message) == (reason, True), problem.message


def test_a_span_of_more_than_a_month_is_rejected() -> None:
    problem = loaded("event_count", "{gte: 5}", "32d").problem
    assert problem is not None
    assert problem.reason == "too_large"
