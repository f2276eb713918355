"""What rules would have hit in the stored past, before they are switched on.

Segments are made into events again (`detect/views/stored.py`), kept records are judged as they are.
Counts are exact for what is stored, unless time or room ran out: then they are those of the newest
part of the time that was asked for, and the answer says from when.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vedette import limits
from vedette.alerting.past_literals import record_literals, segment_literals
from vedette.alerting.past_steps import newest_first
from vedette.detect.judged_rule import JudgedRule
from vedette.detect.rule import Rule
from vedette.detect.rule_set import RuleSet
from vedette.detect.verify import matched_fields
from vedette.detect.views.event import Event
from vedette.detect.views.stored import (
    VERSION_FIELDS,
    columns_of,
    events_of_segment,
    kinds_of,
    not_stored,
)
from vedette.detect.views.windows import channels_of, event_of_record
from vedette.errors import UnavailableError
from vedette.ingest.record import Record
from vedette.model.scope import Scope
from vedette.search.deadline import raise_if_over
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.stored_past import (
    Row,
    StoredSpan,
    file_versions,
    stored_records,
    stored_segments,
)

DAY_MS: Final = 24 * 3600 * 1_000


@dataclass(frozen=True, slots=True)
class PastHit:
    """A rule that fires on a stored event."""

    rule_id: str
    sensor_id: int
    hostname: str
    time_us: int
    process_id: str
    """"" for a record."""
    matched: dict[str, str]


@dataclass(slots=True)
class RulePast:
    """Hits of some rules. A hit is an event and a rule; an alert is made for each rule and
    process, or record."""

    from_ms: int
    until_ms: int
    not_stored: dict[str, frozenset[str]]
    """By rule, the fields that it asks for and the store does not have: with them it may hit more
    or less."""
    events: int = 0
    """Events that any rule was asked of."""
    hits: int = 0
    by_day: Counter[int] = field(default_factory=Counter)
    """Hits by the start of their day (UTC), epoch milliseconds."""
    hosts: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Hits by sensor and host name."""
    by_rule: Counter[str] = field(default_factory=Counter)
    subjects: set[tuple[str, str]] = field(default_factory=set)
    """Rule, and process or record."""
    samples: list[PastHit] = field(default_factory=list)
    """The newest hits."""
    is_incomplete: bool = False
    """Whether time or room ran out: `from_ms` is then later than was asked for."""

    @property
    def days(self) -> float:
        """Length of what was judged."""
        return max(self.until_ms - self.from_ms, limits.SEGMENT_WINDOW_MS) / DAY_MS

    def alerts(self, rule_id: str = "") -> int:
        """Alerts that there would have been, of one rule or of all."""
        return sum(not rule_id or rule == rule_id for rule, _ in self.subjects)

    def most_hit(self) -> list[tuple[int, str, int]]:
        """Sensor id, host name and hits of the hosts with the most hits."""
        found = [(sensor_id, name, hits) for (sensor_id, name), hits in self.hosts.items()]
        return sorted(found, key=lambda one: (-one[2], one[1]))[: limits.RULE_PAST_HOSTS]


def backtest_rules(
    engine: Engine,
    judged: Sequence[JudgedRule],
    scope: Scope,
    from_ms: int,
    until_ms: int,
    reach: Reach,
) -> RulePast:
    """Hits of rules in what is stored of a time (epoch milliseconds, of the server's clock) and the
    scope sees."""
    rules = [one.rule() for one in judged]
    wanting = {one.id: not_stored(one.sources, one.fields) for one in rules}
    found = RulePast(until_ms, until_ms, {name: names for name, names in wanting.items() if names})
    past = _Past(engine, rules, scope, reach, from_ms)
    try:
        for step in newest_first(from_ms, until_ms, limits.RULE_PAST_STEP_S * 1_000):
            hits = past.judge(StoredSpan(*step))
            _add(found, hits, step[0])
            if found.hits > limits.RULE_PAST_HITS_MAX:
                found.is_incomplete = step[0] > from_ms
                break
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        found.is_incomplete = True
    found.events = past.events
    return found


def _add(found: RulePast, hits: Iterable[tuple[PastHit, str]], from_ms: int) -> None:
    """The hits of one step, which was read to its end, each with what an alert is made of."""
    newest = sorted(hits, key=lambda one: -one[0].time_us)
    for hit, subject in newest:
        found.hits += 1
        found.by_day[hit.time_us // 1_000 // DAY_MS * DAY_MS] += 1
        found.hosts[hit.sensor_id, hit.hostname] += 1
        found.by_rule[hit.rule_id] += 1
        found.subjects.add((hit.rule_id, subject))
    room = limits.RULE_PAST_SAMPLES - len(found.samples)
    found.samples += [hit for hit, _ in newest[:room]]
    found.from_ms = from_ms


class _Past:
    """Reads steps of the past and judges them."""

    def __init__(
        self, engine: Engine, rules: Sequence[Rule], scope: Scope, reach: Reach, from_ms: int
    ) -> None:
        self._engine, self._scope, self._reach = engine, scope, reach
        self._set = RuleSet(rules)
        self._from_us = from_ms * 1_000
        self._kinds = {one.id: kinds_of(one.sources) for one in rules}
        self._of_events = [one for one in rules if self._kinds[one.id]]
        self._all_kinds = frozenset[str]().union(*self._kinds.values())
        self._columns = columns_of(self._all_kinds)
        self._literals = segment_literals(self._of_events, self._columns)
        channels = [channels_of(one.sources) for one in rules]
        named = [one for one in channels if one is not None]
        self._channels = None if len(named) < len(channels) else frozenset[str]().union(*named)
        self._of_records = [
            one for one, of in zip(rules, channels, strict=True) if of is None or of
        ]
        self._record_literals = record_literals(self._of_records)
        self._asks_versions = any(not VERSION_FIELDS.isdisjoint(one.fields) for one in rules)
        self._started: set[str] = set()

    @property
    def events(self) -> int:
        return self._set.events

    def judge(self, span: StoredSpan) -> list[tuple[PastHit, str]]:
        """The hits of a time, each with the process or record that it is about."""
        found: list[tuple[PastHit, str]] = []
        if self._of_events:
            versions = self._versions(span)
            for rows in stored_segments(
                self._engine, self._columns, self._literals, self._scope, span, self._reach
            ):
                for row in rows:
                    self._segment(row, versions, found)
                self._check(found)
        if self._of_records:
            for rows in stored_records(
                self._engine, self._channels, self._record_literals, self._scope, span, self._reach
            ):
                for row in rows:
                    self._record(row, found)
                self._check(found)
        return found

    def _check(self, found: Sequence[object]) -> None:
        raise_if_over(self._reach)
        if len(found) > limits.RULE_PAST_STEP_HITS_MAX:
            raise UnavailableError("the rules hit too much", reason="deadline")

    def _versions(self, span: StoredSpan) -> Mapping[str, Row]:
        if not self._asks_versions:
            return {}
        return file_versions(self._engine, self._scope, span, self._reach)

    def _segment(
        self, row: Row, versions: Mapping[str, Row], found: list[tuple[PastHit, str]]
    ) -> None:
        process_id = row["process_id"]
        is_start = row["start"] >= self._from_us and process_id not in self._started
        if is_start:
            self._started.add(process_id)
        events = events_of_segment(
            row, self._all_kinds, lambda md5: versions.get(md5, _NOTHING), with_start=is_start
        )
        for event in events:
            self._judge(event, row, process_id, process_id, found)

    def _record(self, row: Row, found: list[tuple[PastHit, str]]) -> None:
        record = Record(
            "windows",
            row["hostname"],
            row["time"],
            row["channel"],
            row["event_id"],
            row["record_id"],
            row["provider"],
            data=row["fields"],
        )
        self._judge(event_of_record(record), row, "", f"record:{row['record_key']:x}", found)

    def _judge(
        self,
        event: Event,
        row: Row,
        process_id: str,
        subject: str,
        found: list[tuple[PastHit, str]],
    ) -> None:
        for rule in self._set.firing(event):
            matched = matched_fields(rule.condition, event)
            hit = PastHit(
                rule.id, row["sensor_id"], row["hostname"], event.time_us, process_id, matched
            )
            found.append((hit, subject))


_NOTHING: Final[Mapping[str, Any]] = {}
