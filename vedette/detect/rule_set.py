"""All rules in force, asked of one event at a time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from vedette import limits
from vedette.detect.anchors import Anchor, anchors_of, assume
from vedette.detect.expression import Expression, compile_expression
from vedette.detect.prefilter import Prefilter, ValueCaches
from vedette.detect.rule import Rule
from vedette.detect.verify import Predicate, compile_condition, matched_fields
from vedette.detect.views.event import Event
from vedette.model.findings.detection import RuleCost


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
_NONE: Final[list[int]] = []
_EVENT_ID: Final = "EventID"


def _never(_event: Event, _values: object, _lower: object) -> bool:
    """In the place of a rule that cannot be asked."""
    return False


class RuleSet:
    """Rules of every class. Immutable but for caches and counts; one process uses one."""

    def __init__(
        self,
        rules: Iterable[Rule],
        frequency: Mapping[Anchor, float] = NO_FREQUENCIES,
        cpu_ns: Callable[[], int] | None = None,
    ) -> None:
        """`cpu_ns` returns the CPU time; without it no cost is measured."""
        self.rules = tuple(rules)
        self.events = 0
        """Events that any rule was asked of."""
        self.candidates = [0] * len(self.rules)
        """How often each rule was verified."""
        self.hits = [0] * len(self.rules)
        self.verify_ns = [0] * len(self.rules)
        """Time of verifying, estimated from one in `RULE_COST_SAMPLE`."""
        self.broken: list[tuple[str, str]] = []
        """Rules that could not be asked, each with the error: a bug. They are not asked again."""
        self._cpu_ns = cpu_ns
        self._until_sample = limits.RULE_COST_SAMPLE if cpu_ns is not None else 0
        self._expressions: list[Expression | None] = [None] * len(self.rules)
        self._predicates: dict[int, Predicate] = {}
        self._caches = ValueCaches()
        self._frequency = frequency
        self._chosen: dict[int, frozenset[Anchor] | None] = {}
        """Anchors by number of the rule."""
        self._by_source: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            for source in rule.sources:
                self._by_source.setdefault(source, []).append(number)
        self._prefilters: dict[tuple[tuple[str, ...], int], Prefilter | None] = {}
        self._wanted: dict[tuple[str, ...], bool] = {}

    def use_frequency(self, frequency: Mapping[Anchor, float]) -> None:
        """Chooses the anchors anew, by what was measured."""
        self._frequency = frequency
        self._chosen = {}
        self._prefilters = {}
        self._caches.forget()

    def wants(self, sources: tuple[str, ...]) -> bool:
        """Whether any rule is asked of events of these classes."""
        wanted = self._wanted.get(sources)
        if wanted is None:
            wanted = self._wanted[sources] = not self._by_source.keys().isdisjoint(sources)
        return wanted

    def judge(self, event: Event) -> list[Hit]:
        """The rules that fire on an event, with the values that made them."""
        return [self._hit(number, event) for number in self._firing(event)]

    def firing(self, event: Event) -> list[Rule]:
        """The rules that fire on an event."""
        found = self._firing(event)
        return [self.rules[number] for number in found] if found else []

    def take_costs(self) -> list[RuleCost]:
        """What each rule cost and found since the last call; without those that nothing led to."""
        costs = [
            RuleCost(rule.id, events, hits, verify_ns)
            for rule, events, hits, verify_ns in zip(
                self.rules, self.candidates, self.hits, self.verify_ns, strict=True
            )
            if events
        ]
        for counts in (self.candidates, self.hits, self.verify_ns):
            counts[:] = [0] * len(counts)
        return costs

    def _firing(self, event: Event) -> list[int]:
        if self.wants(event.sources):
            self.events += 1
        prefilter = self._prefilter(event.sources, event.event_id)
        if prefilter is None:
            return _NONE
        candidates = prefilter.candidates(event)
        if not candidates:
            return _NONE
        found: list[int] = []
        values, lower = event.originals(), event.lowered()
        for number in candidates:
            self.candidates[number] += 1
            try:
                expression = self._expressions[number] or self._compiled(number)
                self._until_sample -= 1
                if self._until_sample != 0:
                    fires = expression(event, values, lower)
                else:
                    self._until_sample = limits.RULE_COST_SAMPLE
                    fires = self._timed(number, expression, event)
            except Exception as error:  # noqa: BLE001 - it costs this rule, not all others
                self._expressions[number] = _never
                self.broken.append((self.rules[number].id, repr(error)))
                continue
            if fires:
                self.hits[number] += 1
                found.append(number)
        return found

    def _compiled(self, number: int) -> Expression:
        """The expression of a rule, made when an event first leads to it."""
        made = self._expressions[number] = compile_expression(self.rules[number].condition)
        return made

    def _timed(self, number: int, expression: Expression, event: Event) -> bool:
        """Verifies a rule, for whose cost this event stands for `RULE_COST_SAMPLE`."""
        assert self._cpu_ns is not None
        began_ns = self._cpu_ns()
        fires = bool(expression(event, event.originals(), event.lowered()))
        self.verify_ns[number] += (self._cpu_ns() - began_ns) * limits.RULE_COST_SAMPLE
        return fires

    def _prefilter(self, sources: tuple[str, ...], event_id: int) -> Prefilter | None:
        """One prefilter for all classes that an event has at once; there are few such sets."""
        try:
            return self._prefilters[sources, event_id]
        except KeyError:
            numbers = sorted({n for source in sources for n in self._by_source.get(source, ())})
            chosen = [(number, self.rules[number]) for number in numbers]
            made = Prefilter(chosen, self._anchors, self._caches, event_id) if chosen else None
            kept = None if made is None or made.is_empty else made
            if len(self._prefilters) >= limits.DETECT_CLASSES_MAX:
                self._prefilters.clear()
                self._caches.forget()
            self._prefilters[sources, event_id] = kept
            return kept

    def _anchors(
        self, number: int, rule: Rule, event_id: int
    ) -> "frozenset[Anchor] | Literal[False] | None":
        """Anchors of a rule (`prefilter.AnchorsOf`). Those of one that does not ask for the event's
        id are chosen once."""
        if not event_id or _EVENT_ID not in rule.fields:
            if number not in self._chosen:
                self._chosen[number] = anchors_of(rule.condition, self._frequency)
            return self._chosen[number]
        left = assume(rule.condition, _EVENT_ID, str(event_id))
        if isinstance(left, bool):
            return None if left else False
        return anchors_of(left, self._frequency)

    def judge_all(self, event: Event) -> list[Hit]:
        """The same without prefilter and expressions: what tests hold `judge` against."""
        return [
            self._hit(number, event)
            for number, rule in enumerate(self.rules)
            if not set(rule.sources).isdisjoint(event.sources) and self._plain(number)(event)
        ]

    def _plain(self, number: int) -> Predicate:
        made = self._predicates.get(number)
        if made is None:
            made = self._predicates[number] = compile_condition(self.rules[number].condition)
        return made

    def _hit(self, number: int, event: Event) -> Hit:
        rule = self.rules[number]
        matched = matched_fields(rule.condition, event)
        return Hit(rule, event.process_id, event.time_us, matched)
