"""Correlates the hits of one round of `rule_hits.py`: determines completed correlations and the
state to store.

Hits arrive in the order of their commits, always the same, so repeating a round after a crash gives
the same result.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import msgspec

from vedette import limits
from vedette.detect.correlation import (
    METRICS,
    Correlation,
    Finding,
    GroupState,
    Observed,
    number_of,
    observe,
)
from vedette.model.findings.detection import UNCORRELATED, RuleHit
from vedette.state.db.database import Database, Transaction
from vedette.state.jobs import correlation_groups
from vedette.state.jobs.correlation_groups import Group

_SEPARATOR: Final = "\x00"


@dataclass(frozen=True, slots=True)
class Correlated:
    """The values and the last hit of a group that fulfilled a correlation."""

    rule: Correlation
    finding: Finding
    values: dict[str, str]
    """Values of the group, by name in `group_by`."""
    last: RuleHit
    """The hit that completed it."""
    seq: int

    @property
    def subject(self) -> str:
        """Identity of the finding: digest of the group, and its start time."""
        return f"{_digest(self.values.values())[:32]}@{self.finding.first_us}"

    @property
    def sensor_id(self) -> int:
        """The host of all hits; 0 if they come from several hosts."""
        sensors = {one.sensor_id for one in self.finding.observed}
        return sensors.pop() if len(sensors) == 1 else 0


@dataclass(slots=True)
class Round:
    """Findings of one round, and the state after it."""

    found: list[Correlated] = field(default_factory=list)
    states: dict[Group, GroupState] = field(default_factory=dict)

    def save(self, transaction: Transaction, now_us: int) -> None:
        """Stores the state after the round."""
        texts = {group: msgspec.json.encode(state).decode() for group, state in self.states.items()}
        correlation_groups.save(transaction, texts, now_us)


@dataclass(frozen=True, slots=True)
class _Step:
    """A hit as input of one correlation."""

    rule: Correlation
    place: int
    values: dict[str, str]
    value: str
    hit: RuleHit

    @property
    def group(self) -> Group:
        return self.rule.id, _digest(self.values.values())

    @property
    def observed(self) -> Observed:
        hit = self.hit
        return Observed(hit.time_us, self.place, self.value, hit.count, hit.sensor_id)


def silent_rules(correlations: Sequence[Correlation], names: Mapping[str, str]) -> set[str]:
    """Returns ids of rules that raise no alerts of their own: correlations refer to them, and none
    sets `generate`. `names` maps ids to names of all rules in force."""
    return {
        rule_id
        for rule_id, name in names.items()
        if (about := [one for one in correlations if one.concerns(rule_id, name)])
        and not any(one.generate for one in about)
    }


def correlate(
    database: Database,
    correlations: Sequence[Correlation],
    hits: Sequence[tuple[RuleHit, int, str]],
) -> Round:
    """Correlates hits, each with its commit and the name of its rule. Reads the stored state and
    writes nothing; `Round.save` does."""
    done = Round()
    if not correlations:
        return done
    first = (_step(rule, hit, name) for hit, _, name in hits for rule in correlations)
    _load(database, done, {step.group for step in first if step is not None})
    for hit, seq, name in hits:
        _follow(database, correlations, done, hit, seq, name, 0)
    return done


def _follow(
    database: Database,
    correlations: Sequence[Correlation],
    done: Round,
    hit: RuleHit,
    seq: int,
    name: str,
    depth: int,
) -> None:
    steps = [step for one in correlations if (step := _step(one, hit, name)) is not None]
    _load(database, done, {step.group for step in steps})
    for step in steps:
        finding = observe(step.rule, done.states[step.group], step.observed)
        if finding is None:
            continue
        made = Correlated(step.rule, finding, step.values, hit, seq)
        done.found.append(made)
        if depth < limits.CORRELATION_DEPTH_MAX:
            above = _hit_of(made)
            _follow(database, correlations, done, above, seq, step.rule.name, depth + 1)


def _step(rule: Correlation, hit: RuleHit, name: str) -> _Step | None:
    """Returns the input for a correlation; None if the correlation does not refer to the rule, or
    the event lacks a value of the group."""
    place = rule.place_of(hit.rule_id, name)
    if place is None or UNCORRELATED in hit.event:
        return None
    values = {
        one: hit.event.get(rule.field_of(one, hit.rule_id, name), "") for one in rule.group_by
    }
    counted = [hit.event.get(rule.field_of(one, hit.rule_id, name), "") for one in rule.fields]
    if not all(values.values()) or (rule.fields and not any(counted)):
        return None
    if rule.kind in METRICS and number_of(counted[0]) is None:
        return None
    return _Step(rule, place, values, _SEPARATOR.join(counted).lower(), hit)


def _load(database: Database, done: Round, groups: Iterable[Group]) -> None:
    missing = [group for group in groups if group not in done.states]
    if not missing:
        return
    stored = correlation_groups.load(database, missing)
    for group in missing:
        body = stored.get(group)
        done.states[group] = msgspec.json.decode(body, type=GroupState) if body else GroupState()


def _hit_of(made: Correlated) -> RuleHit:
    """Returns a finding as a hit, for correlations of correlations."""
    return RuleHit(
        rule_id=made.rule.id,
        generation=made.last.generation,
        sensor_id=made.sensor_id,
        subject=made.subject,
        process_id="",
        time_us=made.finding.last_us,
        last_us=made.finding.last_us,
        matched=made.values,
        event={**made.last.event, **made.values},
    )


def _digest(values: Iterable[str]) -> str:
    """Returns a digest of values; case-insensitive, like rules."""
    text = _SEPARATOR.join(values).lower()
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
