"""The active rules, evaluated on an event at a time."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from vedette.detect.anchors import Anchor, anchors_of, assume
from vedette.detect.expression import Expression, compile_expression
from vedette.detect.prefilter import Prefilter, ValueCaches
from vedette.detect.rule import Rule
from vedette.detect.verify import Predicate, compile_condition, matched_fields
from vedette.detect.views.event import Event
from vedette.limits import Limit
from vedette.model.findings.detection import RuleCost

RULE_COST_SAMPLE: Limit[int] = 64
"""One in this many comparisons of an event with a rule is timed. Reading the clock takes a tenth of
the time of a comparison."""

DETECT_CLASSES_MAX: Limit[int] = 2_000
"""Maximum combinations of classes and event id with a prefilter (automata) of their own. A fleet
has some hundreds."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched an event."""

    rule: Rule
    process_id: str
    """The acting process; "" for an event without a process."""
    time_us: int
    matched: dict[str, str]
    """Values of the fields that matched."""


NO_FREQUENCIES: Final[Mapping[Anchor, float]] = {}
_NONE: Final[list[int]] = []
_EVENT_ID: Final = "EventID"


def _never(_event: Event, _values: object, _lower: object) -> bool:
    """Replaces a rule whose evaluation failed."""
    return False


class RuleSet:
    """Rules of all classes. Immutable except for caches and counts. Used by a single process."""

    def __init__(
        self,
        rules: Iterable[Rule],
        frequency: Mapping[Anchor, float] = NO_FREQUENCIES,
        cpu_ns: Callable[[], int] | None = None,
    ) -> None:
        """`cpu_ns` returns the CPU time (ns). Without it, no cost is measured."""
        self.rules = tuple(rules)
        self.events = 0
        """Number of events for which rules were looked up."""
        self.candidates = [0] * len(self.rules)
        """Number of verifications, by rule number."""
        self.hits = [0] * len(self.rules)
        self.verify_ns = [0] * len(self.rules)
        """CPU time of verifications (ns) by rule number, estimated from one in
        `RULE_COST_SAMPLE`."""
        self.broken: list[tuple[str, str]] = []
        """Rules whose evaluation raised an error, with the error. This is a bug; such a rule is
        disabled."""
        self._cpu_ns = cpu_ns
        self._until_sample = RULE_COST_SAMPLE if cpu_ns is not None else 0
        self._expressions: list[Expression | None] = [None] * len(self.rules)
        self._predicates: dict[int, Predicate] = {}
        self._caches = ValueCaches()
        self._frequency = frequency
        self._chosen: dict[int, frozenset[Anchor] | None] = {}
        """Anchors by rule number."""
        self._by_source: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            for source in rule.sources:
                self._by_source.setdefault(source, []).append(number)
        self._prefilters: dict[tuple[tuple[str, ...], int], Prefilter | None] = {}
        self._wanted: dict[tuple[str, ...], bool] = {}

    def use_frequency(self, frequency: Mapping[Anchor, float]) -> None:
        """Chooses the anchors again, by measured frequencies."""
        self._frequency = frequency
        self._chosen = {}
        self._prefilters = {}
        self._caches.forget()

    def wants(self, sources: tuple[str, ...]) -> bool:
        """Whether any rule applies to events of these classes."""
        wanted = self._wanted.get(sources)
        if wanted is None:
            wanted = self._wanted[sources] = not self._by_source.keys().isdisjoint(sources)
        return wanted

    def candidates_of(
        self,
        sources: tuple[str, ...],
        event_id: int,
        data: Mapping[str, Any],
        facts: Callable[[], Mapping[str, Any]],
        event: Callable[[], Event],
    ) -> list[int]:
        """Returns the numbers of the rules to verify for an event of wanted classes
        (`Prefilter.candidates_of`)."""
        self.events += 1
        prefilter = self._prefilter(sources, event_id)
        return _NONE if prefilter is None else prefilter.candidates_of(data, facts, event)

    def firing_among(self, candidates: list[int], event: Event) -> list[Rule]:
        """Returns the candidates that match an event."""
        return [self.rules[number] for number in self._verified(candidates, event)]

    def judge(self, event: Event) -> list[Hit]:
        """Returns the rules that match an event, with the matched values."""
        return [self._hit(number, event) for number in self._firing(event)]

    def firing(self, event: Event) -> list[Rule]:
        """Returns the rules that match an event."""
        found = self._firing(event)
        return [self.rules[number] for number in found] if found else []

    def take_costs(self) -> list[RuleCost]:
        """Returns cost and hits of each rule since the last call, and resets them. Omits rules
        without candidates."""
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
        return self._verified(candidates, event) if candidates else _NONE

    def _verified(self, candidates: list[int], event: Event) -> list[int]:
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
                    self._until_sample = RULE_COST_SAMPLE
                    fires = self._timed(number, expression, event)
            except Exception as error:  # noqa: BLE001 - disables only this rule
                self._expressions[number] = _never
                self.broken.append((self.rules[number].id, repr(error)))
                continue
            if fires:
                self.hits[number] += 1
                found.append(number)
        return found

    def _compiled(self, number: int) -> Expression:
        """Compiles the expression of a rule when it is first a candidate."""
        made = self._expressions[number] = compile_expression(self.rules[number].condition)
        return made

    def _timed(self, number: int, expression: Expression, event: Event) -> bool:
        """Verifies a rule and measures its cost. The event stands for `RULE_COST_SAMPLE` events."""
        assert self._cpu_ns is not None
        began_ns = self._cpu_ns()
        fires = bool(expression(event, event.originals(), event.lowered()))
        self.verify_ns[number] += (self._cpu_ns() - began_ns) * RULE_COST_SAMPLE
        return fires

    def _prefilter(self, sources: tuple[str, ...], event_id: int) -> Prefilter | None:
        """Returns the prefilter for a combination of classes. There are few combinations."""
        try:
            return self._prefilters[sources, event_id]
        except KeyError:
            numbers = sorted({n for source in sources for n in self._by_source.get(source, ())})
            chosen = [(number, self.rules[number]) for number in numbers]
            made = Prefilter(chosen, self._anchors, self._caches, event_id) if chosen else None
            kept = None if made is None or made.is_empty else made
            if len(self._prefilters) >= DETECT_CLASSES_MAX:
                self._prefilters.clear()
                self._caches.forget()
            self._prefilters[sources, event_id] = kept
            return kept

    def _anchors(
        self, number: int, rule: Rule, event_id: int
    ) -> "frozenset[Anchor] | Literal[False] | None":
        """Returns the anchors of a rule (`prefilter.AnchorsOf`). Rules that do not test the event
        id have the same anchors for every event id."""
        if not event_id or _EVENT_ID not in rule.fields:
            if number not in self._chosen:
                self._chosen[number] = anchors_of(rule.condition, self._frequency)
            return self._chosen[number]
        left = assume(rule.condition, _EVENT_ID, str(event_id))
        if isinstance(left, bool):
            return None if left else False
        return anchors_of(left, self._frequency)

    def judge_all(self, event: Event) -> list[Hit]:
        """Like `judge`, without prefilter and compiled expressions: the reference for tests."""
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
