"""Delivers the detection rules to the processes that evaluate them, and collects their costs and
the number of events by class. Thread-safe.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from vedette.detect.judged_rule import JudgedRule, encoded_rules
from vedette.model.findings.detection import RuleCost
from vedette.pipeline.workers.protocol import Rules


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """The generation of the rules that commits use, and the first such commit."""

    generation: int = 0
    seq: int = 0


class RuleDelivery:
    """Delivery of rules (see the module docstring)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._rules = Rules(0, encoded_rules(()))
        self._version = 0
        self._judged_by = JudgedBy()
        self._costs: dict[str, RuleCost] = {}
        self._arrived: Counter[str] = Counter()

    def use(self, generation: int, rules: Sequence[JudgedRule]) -> None:
        """Sets the rules of commits that begin later."""
        encoded = encoded_rules(rules)
        with self._lock:
            self._rules = Rules(generation, encoded)
            self._version += 1

    def missing(self, version: int, seq: int) -> tuple[int, Rules | None]:
        """Returns (new version, rules) for a worker with `version` that is about to process commit
        `seq`. The rules are None if the worker already has them."""
        with self._lock:
            if self._judged_by.generation != self._rules.generation:
                self._judged_by = JudgedBy(self._rules.generation, seq)
            return self._version, self._rules if version != self._version else None

    @property
    def judged_by(self) -> JudgedBy:
        """The rules of the last commit that was begun."""
        with self._lock:
            return self._judged_by

    def add_costs(self, costs: Iterable[RuleCost]) -> None:
        with self._lock:
            for one in costs:
                known = self._costs.get(one.rule_id)
                self._costs[one.rule_id] = one if known is None else _sum(known, one)

    def take_costs(self) -> list[RuleCost]:
        """Returns costs and hits of rules since the last call."""
        with self._lock:
            costs, self._costs = list(self._costs.values()), {}
        return costs

    def add_arrived(self, arrived: Mapping[str, int]) -> None:
        with self._lock:
            self._arrived.update(arrived)

    def take_arrived(self) -> dict[str, int]:
        """Returns the number of events by class since the last call."""
        with self._lock:
            arrived, self._arrived = self._arrived, Counter()
        return dict(arrived)


def _sum(one: RuleCost, other: RuleCost) -> RuleCost:
    return RuleCost(
        one.rule_id,
        one.events + other.events,
        one.hits + other.hits,
        one.verify_ns + other.verify_ns,
    )
