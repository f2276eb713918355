"""All rules in force, asked of one event at a time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from vedette.detect.anchors import Anchor
from vedette.detect.prefilter import Prefilter
from vedette.detect.rule import Rule
from vedette.detect.verify import Predicate, compile_condition, matched_fields
from vedette.detect.views.event import Event


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that fired on one event."""

    rule: Rule
    process_id: str
    """The process that acted, "" for an event without one."""
    time_us: int
    matched: dict[str, str]
    """Values of the fields that made it fire."""


NO_FREQUENCIES: Final[Mapping[Anchor, float]] = {}


class RuleSet:
    """Rules of every class. Immutable but for caches and counts; one process uses one."""

    def __init__(
        self, rules: Iterable[Rule], frequency: Mapping[Anchor, float] = NO_FREQUENCIES
    ) -> None:
        self.rules = tuple(rules)
        self.candidates = [0] * len(self.rules)
        """How often each rule was verified."""
        self.hits = [0] * len(self.rules)
        self._predicates: list[Predicate] = [compile_condition(one.condition) for one in self.rules]
        self._frequency = frequency
        self._by_source: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            for source in rule.sources:
                self._by_source.setdefault(source, []).append(number)
        self._prefilters: dict[tuple[str, ...], Prefilter | None] = {}

    def wants(self, sources: tuple[str, ...]) -> bool:
        """Whether any rule is asked of events of these classes."""
        return self._prefilter(sources) is not None

    def judge(self, event: Event) -> list[Hit]:
        """The rules that fire on an event."""
        prefilter = self._prefilter(event.sources)
        if prefilter is None:
            return []
        hits: list[Hit] = []
        for number in prefilter.candidates(event):
            self.candidates[number] += 1
            if self._predicates[number](event):
                self.hits[number] += 1
                hits.append(self._hit(number, event))
        return hits

    def _prefilter(self, sources: tuple[str, ...]) -> Prefilter | None:
        """One prefilter for all classes that an event has at once; there are few such sets."""
        try:
            return self._prefilters[sources]
        except KeyError:
            numbers = sorted({n for source in sources for n in self._by_source.get(source, ())})
            chosen = [(number, self.rules[number]) for number in numbers]
            made = Prefilter(chosen, self._frequency) if chosen else None
            self._prefilters[sources] = made
            return made

    def judge_all(self, event: Event) -> list[Hit]:
        """The same without prefilter: what tests hold `judge` against."""
        return [
            self._hit(number, event)
            for number, rule in enumerate(self.rules)
            if not set(rule.sources).isdisjoint(event.sources) and self._predicates[number](event)
        ]

    def _hit(self, number: int, event: Event) -> Hit:
        rule = self.rules[number]
        matched = matched_fields(rule.condition, event)
        return Hit(rule, event.process_id, event.time_us, matched)
