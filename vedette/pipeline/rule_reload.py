"""Reloads the detection rules when they change in the state database, and writes back their costs.

The server that changes a rule reloads at once; other servers at the next run of the background job.
New rules apply to every commit that begins later. The first such commit is stored (`rules.InForce`,
with several servers by `servers/judged_rules.py`). Use `POST /api/v1/sigma/test` for telemetry that
was stored before.
"""

import time
from collections import Counter, deque
from dataclasses import replace
from threading import Lock
from typing import Final

import structlog

from vedette import limits
from vedette.clock import Clock
from vedette.detect.correlation import Correlation
from vedette.detect.judged_rule import JudgedRule
from vedette.detect.narrowed_rules import narrowed_rules
from vedette.detect.rule import Rule
from vedette.detect.rule_codec import (
    CodecError,
    decoded_correlation,
    decoded_filter,
    decoded_rule,
)
from vedette.detect.rule_filter import RuleFilter
from vedette.model.findings.detection import RuleCost
from vedette.pipeline.workers.processor import CommitProcessor
from vedette.state.db.database import Database
from vedette.state.policy import rule_counts, rules
from vedette.state.policy.rules import InForce
from vedette.state.policy.sigma import log_sources
from vedette.state.policy.sigma_rule import NewSigmaRule, RuleCounts
from vedette.state.servers.judged_rules import note_judged

log = structlog.get_logger(__name__)

_NEVER_LOADED: Final = -1


class RuleReloader:
    """Reloads rules (see the module docstring). Thread-safe."""

    def __init__(self, database: Database, processor: CommitProcessor, clock: Clock) -> None:
        self._database = database
        self._processor = processor
        self._clock = clock
        self._noted = InForce(_NEVER_LOADED)
        self._spent: deque[tuple[float, list[RuleCost]]] = deque()
        """Costs of the last minute, each with the time of its `flush`."""
        self._lock = Lock()

    def reload(self) -> None:
        """Loads the rules if any changed. They apply to commits that begin later. On return, this
        server has recorded their generation, which was still current at that time."""
        with self._lock:
            self._note()
            while rules.generation(self._database) != self._noted.generation:
                self._load()
                self._note()

    def _load(self) -> None:
        generation, documents = rules.evaluated(self._database)
        self._processor.rules.use(generation, judged_rules(documents))
        self._noted = InForce(generation, 0, self._clock.now_us())
        log.info("detection rules loaded", rules=len(documents), generation=generation)

    def _note(self) -> None:
        if self._noted.generation != _NEVER_LOADED:
            note_judged(self._database, self._noted)

    def flush(self) -> None:
        """Writes costs and hits of the rules, the events by log source, and the first commit that
        the rules apply to. Call it
        every few seconds, and at shutdown."""
        judged_by = self._processor.rules.judged_by
        with self._lock:
            if judged_by.generation == self._noted.generation and not self._noted.seq:
                self._noted = replace(self._noted, seq=judged_by.seq)
                self._note()
        arrived = self._processor.rules.take_arrived()
        if arrived:
            log_sources.add(self._database, arrived, self._clock.now_us())
        costs = self._processor.rules.take_costs()
        if costs:
            now_us = self._clock.now_us()
            rule_counts.add(self._database, {one.rule_id: _counts(one, now_us) for one in costs})
        with self._lock:
            self._spent.append((time.monotonic(), costs))

    def forget_cost(self, rule_id: str) -> None:
        """Resets the cost of a rule that was stopped, so that it starts from zero when it is
        enabled again."""
        with self._lock:
            for _, costs in self._spent:
                costs[:] = [one for one in costs if one.rule_id != rule_id]

    def spent_ns(self) -> dict[str, int]:
        """Maps rule id to its CPU time in the last `RULE_BUDGET_WINDOW_S` seconds."""
        since_s = time.monotonic() - limits.RULE_BUDGET_WINDOW_S
        spent: Counter[str] = Counter()
        with self._lock:
            while self._spent and self._spent[0][0] < since_s:
                self._spent.popleft()
            for _, costs in self._spent:
                for one in costs:
                    spent[one.rule_id] += one.verify_ns
        return spent


def judged_rules(documents: list[NewSigmaRule]) -> list[JudgedRule]:
    """Returns the rules of stored documents, narrowed by their filters. Skips a document that an
    older version compiled: the server compiles it again at its start
    (`alerting/rule_import.py`)."""
    found: list[Rule] = []
    filters: list[RuleFilter] = []
    correlations: list[Correlation] = []
    for one in documents:
        try:
            if one.kind == "rule":
                found.append(decoded_rule(one.compiled.encode()))
            elif one.kind == "filter":
                filters.append(decoded_filter(one.compiled.encode()))
            else:
                correlations.append(decoded_correlation(one.compiled.encode()))
        except CodecError as error:
            log.error("cannot load a rule", rule=one.id, error=str(error))
    return narrowed_rules(found, filters, correlations)


def _counts(cost: RuleCost, now_us: int) -> RuleCounts:
    last_us = now_us if cost.hits else 0
    return RuleCounts(
        events=cost.events, hits=cost.hits, verify_us=cost.verify_ns // 1_000, last_hit_us=last_us
    )
