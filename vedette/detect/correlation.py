"""Correlation rules: combinations of hits of other rules within a span of event time.

Pure: takes a group's state and a hit, changes the state, and may return a finding. Time is event
time. Hits may arrive in any order as long as they are less than a span late: hits older than two
spans are evicted. A finding consumes its hits and suppresses later hits within its span, so that a
continuing attack yields one finding per span.
"""

import operator
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from vedette.detect.rule import Level
from vedette.limits import Limit

CORRELATION_HITS_MAX: Limit[int] = 1_000
"""Maximum hits that a group of a correlation by values or rules stores. The oldest are evicted
first."""


CorrelationType = Literal[
    "event_count",
    "value_count",
    "temporal",
    "temporal_ordered",
    "value_sum",
    "value_avg",
    "value_median",
    "value_percentile",
]
METRICS: Final = frozenset({"value_sum", "value_avg", "value_median", "value_percentile"})
"""Types that calculate with the values of a field. Each hit is compared with the hits of its group
within the time span before it."""

Operator = Literal["gt", "gte", "eq", "lt", "lte", "neq"]
"""Counts, sums and temporal types have only comparisons that hits can make true. "Fewer than" would
be true for everything that never happened."""

_COMPARE: Final[dict[Operator, Callable[[float, float], bool]]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "eq": operator.eq,
    "lt": operator.lt,
    "lte": operator.le,
    "neq": operator.ne,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """A correlation rule: hits of `rules` (ids or names) with equal values of `group_by`, all
    within `timespan_us` of event time."""

    id: str
    title: str
    level: Level
    kind: CorrelationType
    rules: tuple[str, ...]
    group_by: tuple[str, ...]
    timespan_us: int
    operator: Operator
    count: int | float
    """Number of events, distinct values or distinct rules, or the number that a metric is compared
    with, depending on `kind`."""
    fields: tuple[str, ...] = ()
    """For `value_count`: fields whose distinct values are counted. For a metric: its field."""
    percentile: int = 0
    """For `value_percentile`: 1 to 100."""
    expression: tuple[int | str, ...] = ()
    """For `temporal`: the condition in postfix order, of indexes of `rules`, `and` and `or`; () to
    count distinct rules."""
    aliases: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """Aliases that `group_by` may use. Each has pairs of (rule, field of that rule)."""
    generate: bool = False
    """Whether hits of the rules also alert individually."""
    name: str = ""
    tags: tuple[str, ...] = ()
    false_positives: tuple[str, ...] = ()
    description: str = ""

    @property
    def least(self) -> int:
        """Smallest number that satisfies the condition."""
        count = int(self.count)
        return count + 1 if self.operator == "gt" else max(1, count)

    def concerns(self, rule_id: str, name: str = "") -> bool:
        """Whether hits of this rule belong to the correlation."""
        return self.place_of(rule_id, name) is not None

    def place_of(self, rule_id: str, name: str = "") -> int | None:
        """Returns the index of a rule in `rules`; None if it is not included."""
        for place, one in enumerate(self.rules):
            if one == rule_id or (name and one == name):
                return place
        return None

    def field_of(self, field_name: str, rule_id: str, name: str = "") -> str:
        """Returns the rule's field for a name in `group_by` or `fields`."""
        for alias, fields in self.aliases:
            if alias == field_name:
                return next((own for rule, own in fields if rule in (rule_id, name)), field_name)
        return field_name

    def asked_of(self, rule_id: str, name: str = "") -> tuple[str, ...]:
        """Returns the fields of a rule's events whose values the correlation needs."""
        wanted = (*self.group_by, *self.fields)
        return tuple(self.field_of(one, rule_id, name) for one in wanted)


class Observed(Struct, frozen=True, array_like=True):
    """A hit in the state of a group."""

    time_us: int
    rule: int
    """Index of the rule in the correlation's `rules`."""
    value: str = ""
    """Value of the field, for `value_count` and metrics."""
    count: int = 1
    sensor_id: int = 0


class GroupState(Struct):
    """State of one group of a correlation."""

    observed: list[Observed] = field(default_factory=list)
    """Ascending by time."""
    found_us: int = 0
    """Time of the first hit of the latest finding; 0 if there is none."""


class Finding(Struct, frozen=True):
    """Hits that satisfy a correlation."""

    observed: tuple[Observed, ...]
    """Ascending by time."""

    @property
    def first_us(self) -> int:
        return self.observed[0].time_us

    @property
    def last_us(self) -> int:
        return self.observed[-1].time_us

    @property
    def count(self) -> int:
        return sum(one.count for one in self.observed)


def observe(rule: Correlation, state: GroupState, hit: Observed) -> Finding | None:
    """Adds a hit to a group's state. Returns the finding that it completes, if any."""
    span_us = rule.timespan_us
    if state.found_us and state.found_us <= hit.time_us <= state.found_us + span_us:
        return None
    observed = state.observed
    newest_us = max(observed[-1].time_us if observed else 0, hit.time_us)
    if hit.time_us < newest_us - 2 * span_us:
        return None
    insort(observed, hit, key=_time)
    del observed[: bisect_left(observed, newest_us - 2 * span_us, key=_time)]
    _thin(rule, observed)
    found = _found(rule, observed, hit.time_us)
    if found is None:
        return None
    finding = Finding(tuple(_without_surplus(rule, found, hit)))
    state.found_us = finding.first_us
    until_us = finding.first_us + span_us
    state.observed = [one for one in observed if not finding.first_us <= one.time_us <= until_us]
    return finding


def _without_surplus(
    rule: Correlation, found: Sequence[Observed], hit: Observed
) -> Sequence[Observed]:
    """Returns the hits of a window, with the count of `hit` reduced to the number that the rule
    needs. Whether simultaneous hits are one value or several depends on the commit."""
    if hit.count == 1:
        return found
    if rule.kind in METRICS:
        return found
    surplus = hit.count - 1
    if rule.kind == "event_count":
        surplus = min(surplus, sum(one.count for one in found) - rule.least)
    needed = replace(hit, count=hit.count - surplus)
    return [needed if one is hit else one for one in found]


_time = attrgetter("time_us")


def _thin(rule: Correlation, observed: list[Observed]) -> None:
    """Evicts the oldest surplus hits. Keeps the latest hit of each value and rule as long as
    possible."""
    if rule.kind == "event_count":
        del observed[: max(0, len(observed) - 2 * rule.least)]
        return
    if rule.kind in METRICS:
        del observed[: max(0, len(observed) - CORRELATION_HITS_MAX)]
        return
    most = max(CORRELATION_HITS_MAX, 2 * rule.least)
    if len(observed) <= most:
        return
    last = {(one.rule, one.value): place for place, one in enumerate(observed)}
    kept = sorted({*last.values(), *range(len(observed) - most // 2, len(observed))})
    observed[:] = [observed[place] for place in kept[-most:]]


def _found(rule: Correlation, observed: Sequence[Observed], at_us: int) -> list[Observed] | None:
    """Returns the hits of the first window around `at_us` that satisfies the rule."""
    span_us = rule.timespan_us
    begin = bisect_left(observed, at_us - span_us, key=_time)
    end = bisect_right(observed, at_us, key=_time)
    if rule.kind in METRICS:
        before = observed[begin:end]
        return list(before) if _holds(rule, before) else None
    for start in range(begin, end):
        if start > begin and observed[start].time_us == observed[start - 1].time_us:
            continue
        until_us = observed[start].time_us + span_us
        window = observed[start : bisect_right(observed, until_us, key=_time)]
        if _holds(rule, window):
            return list(window)
        if until_us >= observed[-1].time_us and rule.kind != "temporal_ordered":
            return None  # later windows are parts of this window
    return None


def _holds(rule: Correlation, window: Sequence[Observed]) -> bool:
    match rule.kind:
        case "event_count":
            return sum(one.count for one in window) >= rule.least
        case "value_count":
            return len({one.value for one in window}) >= rule.least
        case "temporal":
            fired = {one.rule for one in window}
            if rule.expression:
                return _is_true(rule.expression, fired)
            return len(fired) >= rule.least
        case "temporal_ordered":
            return _is_ordered(window, len(rule.rules))
        case _:
            number = _metric(rule, window)
            return number is not None and _COMPARE[rule.operator](number, rule.count)


def _is_true(expression: Sequence[int | str], fired: Container[int]) -> bool:
    """Evaluates a condition in postfix order."""
    stack: list[bool] = []
    for one in expression:
        if isinstance(one, int):
            stack.append(one in fired)
            continue
        right, left = stack.pop(), stack.pop()
        stack.append((left and right) if one == "and" else (left or right))
    return stack[-1]


def number_of(text: str) -> float | None:
    """Returns the number that a value is for metrics; None for text, for negative and for infinite
    numbers."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < inf else None


def _metric(rule: Correlation, window: Sequence[Observed]) -> float | None:
    """Returns sum, average, median or percentile (nearest rank); None without numbers."""
    pairs = [(number, one.count) for one in window if (number := number_of(one.value)) is not None]
    total = sum(count for _, count in pairs)
    if not total:
        return None
    if rule.kind == "value_sum":
        return sum(number * count for number, count in pairs)
    if rule.kind == "value_avg":
        return sum(number * count for number, count in pairs) / total
    pairs.sort()
    if rule.kind == "value_percentile":
        return _ranked(pairs, -(-total * rule.percentile // 100))
    return (_ranked(pairs, (total + 1) // 2) + _ranked(pairs, total // 2 + 1)) / 2


def _ranked(pairs: Sequence[tuple[float, int]], rank: int) -> float:
    """Returns the value with a rank, from 1, of ascending (value, count) pairs."""
    for number, count in pairs:
        rank -= count
        if rank <= 0:
            return number
    return pairs[-1][0]


def _is_ordered(window: Sequence[Observed], rules: int) -> bool:
    """Whether the rules fired in their order. Other hits may be in between."""
    wanted = 0
    for one in sorted(window, key=lambda one: (one.time_us, one.rule)):
        if one.rule == wanted:
            wanted += 1
            if wanted == rules:
                return True
    return False


def rules_of(finding: Finding) -> Counter[int]:
    """Counts the hits of a finding by the index of their rule."""
    return Counter(one.rule for one in finding.observed)
