"""Correlation rules: what several hits of other rules mean together, within a span of time.

Pure: a group's state and one hit in, the changed state and perhaps a finding out. Time is that of
the events, and hits may come in any order as long as they are not later than the span: what lies
two spans back is forgotten. A finding uses up its hits, and swallows what follows within its span,
so that an attack that goes on is one finding a span.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from msgspec import Struct, field

from vedette import limits
from vedette.detect.rule import Level

CorrelationType = Literal["event_count", "value_count", "temporal", "temporal_ordered"]
Operator = Literal["gt", "gte", "eq"]
"""Only what becomes true by hits: fewer than a number is true of everything that did not happen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Hits of `rules` (ids or names) that have the same values of `group_by`, all within
    `timespan_us` of event time."""

    id: str
    title: str
    level: Level
    kind: CorrelationType
    rules: tuple[str, ...]
    group_by: tuple[str, ...]
    timespan_us: int
    operator: Operator
    count: int
    """Events, distinct values or distinct rules, by `kind`."""
    fields: tuple[str, ...] = ()
    """Of `value_count`: whose distinct values are counted."""
    aliases: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()
    """Names that `group_by` may use, each with the field it means by rule."""
    generate: bool = False
    """Whether the rules alert by themselves, too."""
    name: str = ""
    tags: tuple[str, ...] = ()
    false_positives: tuple[str, ...] = ()
    description: str = ""

    @property
    def least(self) -> int:
        """The smallest number that is enough."""
        return self.count + 1 if self.operator == "gt" else max(1, self.count)

    def concerns(self, rule_id: str, name: str = "") -> bool:
        """Whether it is about hits of a rule."""
        return self.place_of(rule_id, name) is not None

    def place_of(self, rule_id: str, name: str = "") -> int | None:
        """Place of a rule among `rules`; None where it is not among them."""
        for place, one in enumerate(self.rules):
            if one == rule_id or (name and one == name):
                return place
        return None

    def field_of(self, field_name: str, rule_id: str, name: str = "") -> str:
        """The rule's field for a name of `group_by` or `fields`."""
        for alias, fields in self.aliases:
            if alias == field_name:
                return next((own for rule, own in fields if rule in (rule_id, name)), field_name)
        return field_name

    def asked_of(self, rule_id: str, name: str = "") -> tuple[str, ...]:
        """The fields of a rule's events whose values it needs."""
        wanted = (*self.group_by, *self.fields)
        return tuple(self.field_of(one, rule_id, name) for one in wanted)


class Observed(Struct, frozen=True, array_like=True):
    """A hit as a group remembers it."""

    time_us: int
    rule: int
    """Its place among the rules of the correlation."""
    value: str = ""
    """Of `value_count`."""
    count: int = 1
    sensor_id: int = 0


class GroupState(Struct):
    """What a correlation remembers of one group."""

    observed: list[Observed] = field(default_factory=list)
    """In order of time."""
    found_us: int = 0
    """When the hits of the latest finding begin; 0 before the first."""


class Finding(Struct, frozen=True):
    """Hits that mean something together."""

    observed: tuple[Observed, ...]
    """In order of time."""

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
    """Adds a hit to a group, which changes; returns what it completes."""
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
    finding = Finding(tuple(found))
    state.found_us = finding.first_us
    until_us = finding.first_us + span_us
    state.observed = [one for one in observed if not finding.first_us <= one.time_us <= until_us]
    return finding


_time = attrgetter("time_us")


def _thin(rule: Correlation, observed: list[Observed]) -> None:
    """Drops hits beyond what is needed: the oldest, but the last of each value and rule stays as
    long as it can."""
    if rule.kind == "event_count":
        del observed[: max(0, len(observed) - 2 * rule.least)]
        return
    most = max(limits.CORRELATION_HITS_MAX, 2 * rule.least)
    if len(observed) <= most:
        return
    last = {(one.rule, one.value): place for place, one in enumerate(observed)}
    kept = sorted({*last.values(), *range(len(observed) - most // 2, len(observed))})
    observed[:] = [observed[place] for place in kept[-most:]]


def _found(rule: Correlation, observed: Sequence[Observed], at_us: int) -> list[Observed] | None:
    """The hits of the first window around a time in which the rule holds."""
    span_us = rule.timespan_us
    begin = bisect_left(observed, at_us - span_us, key=_time)
    end = bisect_right(observed, at_us, key=_time)
    for start in range(begin, end):
        if start > begin and observed[start].time_us == observed[start - 1].time_us:
            continue
        until_us = observed[start].time_us + span_us
        window = observed[start : bisect_right(observed, until_us, key=_time)]
        if _holds(rule, window):
            return list(window)
        if until_us >= observed[-1].time_us and rule.kind != "temporal_ordered":
            return None  # later windows are parts of this one
    return None


def _holds(rule: Correlation, window: Sequence[Observed]) -> bool:
    match rule.kind:
        case "event_count":
            return sum(one.count for one in window) >= rule.least
        case "value_count":
            return len({one.value for one in window}) >= rule.least
        case "temporal":
            return len({one.rule for one in window}) >= rule.least
        case "temporal_ordered":
            return _is_ordered(window, len(rule.rules))


def _is_ordered(window: Sequence[Observed], rules: int) -> bool:
    """Whether the rules fired one after the other, in their order; other hits may lie between."""
    wanted = 0
    for one in sorted(window, key=lambda one: (one.time_us, one.rule)):
        if one.rule == wanted:
            wanted += 1
            if wanted == rules:
                return True
    return False


def rules_of(finding: Finding) -> Counter[int]:
    """How many hits a finding has of each rule, by its place."""
    return Counter(one.rule for one in finding.observed)
