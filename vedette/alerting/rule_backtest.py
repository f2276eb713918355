"""Trial of rules on stored telemetry, before they are enabled.

Events are rebuilt from segments (`detect/views/stored.py`); stored records are judged as they are.
The requested period refers to the time of the events or to their arrival (`PastTime`), alike for
process starts, other events of segments and records. The store is read from the newest arrival
backward.

Counts are exact for the stored telemetry unless time or room runs out. Then they cover the newest
arrivals, and the result states from which time on. Late arrivals of earlier events are included.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

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
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.search.deadline import raise_if_over
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.stored_past import (
    Row,
    StoredSpan,
    file_versions,
    newest_stored_ms,
    stored_before,
    stored_records,
    stored_segments,
)

RULE_PAST_STEP_S: Limit[int] = 900
"""Length (s) of the first step into stored telemetry; each further step is twice as long. A step
that runs out of time is discarded."""

RULE_PAST_HITS_MAX: Limit[int] = 100_000
"""Hits after which a trial on stored telemetry ends; a rule that fires so often is useless."""

RULE_PAST_STEP_HITS_MAX: Limit[int] = 500_000
"""Hits of one step, which are in memory until the step ends."""

RULE_PAST_HOSTS: Limit[int] = 100
"""Hosts that the result names, by most hits."""


DAY_MS: Final = 24 * 3600 * 1_000

PastTime = Literal["event", "arrival"]
"""Meaning of the period: time of the event on the host, or its arrival at the server (in
five-minute windows)."""

_AHEAD_MS: Final = DAY_MS
"""Maximum time (ms) by which clocks of hosts may run ahead of the server's, for events to be found
by their time."""


@dataclass(frozen=True, slots=True)
class PastHit:
    """A stored event on which a rule fires."""

    rule_id: str
    sensor_id: int
    hostname: str
    time_us: int
    process_id: str
    """Empty for a record."""
    matched: dict[str, str]


@dataclass(slots=True)
class RulePast:
    """Result of a trial. A hit is a pair of event and rule; an alert is a pair of rule and process,
    or rule and record."""

    from_ms: int
    until_ms: int
    not_stored: dict[str, frozenset[str]]
    """Maps rule to those of its fields that the store does not have; with them, it may hit more or
    less."""
    by: PastTime = "event"
    events: int = 0
    """Events that were compared with any rule."""
    hits: int = 0
    by_day: Counter[int] = field(default_factory=Counter)
    """Hits by the start of their day (UTC, epoch ms)."""
    hosts: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Hits by (sensor id, host name)."""
    by_rule: Counter[str] = field(default_factory=Counter)
    subjects: set[tuple[str, str]] = field(default_factory=set)
    """(rule, process or record)."""
    samples: list[PastHit] = field(default_factory=list)
    """The newest hits."""
    is_incomplete: bool = False
    """Whether time or room ran out; `from_ms` is then later than requested."""

    @property
    def days(self) -> float:
        """Length of the judged period in days."""
        return max(self.until_ms - self.from_ms, limits.SEGMENT_WINDOW_MS) / DAY_MS

    def alerts(self, rule_id: str = "") -> int:
        """Returns the number of alerts that one rule, or all, would have raised."""
        return sum(not rule_id or rule == rule_id for rule, _ in self.subjects)

    def most_hit(self) -> list[tuple[int, str, int]]:
        """Returns (sensor id, host name, hits) of the hosts with the most hits."""
        found = [(sensor_id, name, hits) for (sensor_id, name), hits in self.hosts.items()]
        return sorted(found, key=lambda one: (-one[2], one[1]))[:RULE_PAST_HOSTS]


def backtest_rules(
    engine: Engine,
    judged: Sequence[JudgedRule],
    scope: Scope,
    from_ms: int,
    until_ms: int,
    reach: Reach,
    by: PastTime = "event",
) -> RulePast:
    """Returns hits of rules in the stored telemetry of a period (epoch ms) within the scope."""
    rules = [one.rule() for one in judged]
    wanting = {one.id: not_stored(one.sources, one.fields) for one in rules}
    found = RulePast(
        until_ms, until_ms, {name: names for name, names in wanting.items() if names}, by
    )
    past = _Past(engine, rules, scope, reach, from_ms * 1_000, until_ms * 1_000, by)
    try:
        first_ms, last_ms = from_ms, until_ms
        if by == "event":
            first_ms, last_ms = from_ms - _AHEAD_MS, newest_stored_ms(engine, reach) + 1
        for step in newest_first(first_ms, last_ms, RULE_PAST_STEP_S * 1_000):
            hits = past.judge(step)
            _add(found, hits, max(from_ms, step[0]))
            if found.hits > RULE_PAST_HITS_MAX:
                found.is_incomplete = step[0] > first_ms
                break
        else:
            found.from_ms = from_ms
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        found.is_incomplete = True
    found.events = past.events
    return found


def _add(found: RulePast, hits: Iterable[tuple[PastHit, str]], from_ms: int) -> None:
    """Adds the hits of a completed step, each with the subject of its alert."""
    newest = sorted(hits, key=lambda one: -one[0].time_us)
    for hit, subject in newest:
        found.hits += 1
        found.by_day[hit.time_us // 1_000 // DAY_MS * DAY_MS] += 1
        found.hosts[hit.sensor_id, hit.hostname] += 1
        found.by_rule[hit.rule_id] += 1
        found.subjects.add((hit.rule_id, subject))
    room = limits.RULE_PAST_SAMPLES - len(found.samples)
    found.samples += [hit for hit, _ in newest[:room]]
    found.from_ms = min(found.until_ms, from_ms)


class _Past:
    """Reads and judges steps of stored telemetry."""

    def __init__(
        self,
        engine: Engine,
        rules: Sequence[Rule],
        scope: Scope,
        reach: Reach,
        from_us: int,
        until_us: int,
        by: PastTime,
    ) -> None:
        self._engine, self._scope, self._reach = engine, scope, reach
        self._set = RuleSet(rules)
        self._from_us, self._until_us, self._by = from_us, until_us, by
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

    def judge(self, step: tuple[int, int]) -> list[tuple[PastHit, str]]:
        """Returns the hits of events that arrived in a period (epoch ms), each with its process or
        record."""
        span = StoredSpan(*step)
        if self._by == "event":
            span = StoredSpan(*step, self._from_us, self._until_us)
        started: list[tuple[PastHit, str]] = []
        found: list[tuple[PastHit, str]] = []
        if self._of_events:
            versions = self._versions(span)
            for rows in stored_segments(
                self._engine, self._columns, self._literals, self._scope, span, self._reach
            ):
                for row in rows:
                    self._segment(row, versions, found, started)
                self._check((*found, *started))
            found += self._of_span(started, span)
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
        if len(found) > RULE_PAST_STEP_HITS_MAX:
            raise UnavailableError("the rules hit too much", reason="deadline")

    def _versions(self, span: StoredSpan) -> Mapping[str, Row]:
        if not self._asks_versions:
            return {}
        return file_versions(self._engine, self._scope, span, self._reach)

    def _segment(
        self,
        row: Row,
        versions: Mapping[str, Row],
        found: list[tuple[PastHit, str]],
        started: list[tuple[PastHit, str]],
    ) -> None:
        """Adds hits of a segment to `found`, and hits on its process start to `started`."""
        process_id = row["process_id"]
        is_start = self._is_wanted(row["start"]) and process_id not in self._started
        if is_start:
            self._started.add(process_id)
        events = events_of_segment(
            row, self._all_kinds, lambda md5: versions.get(md5, _NOTHING), with_start=is_start
        )
        for event in events:
            if self._is_wanted(event.time_us):
                is_creation = event.sources[0].endswith(_CREATION)
                hits = started if is_creation else found
                self._judge(event, row, process_id, process_id, hits)

    def _is_wanted(self, time_us: int) -> bool:
        """Whether an event of a segment in the span is in the requested period."""
        return self._by == "arrival" or self._from_us <= time_us < self._until_us

    def _of_span(
        self, started: list[tuple[PastHit, str]], span: StoredSpan
    ) -> list[tuple[PastHit, str]]:
        """Returns the hits on processes that started, or by arrival first appeared, in the
        requested period."""
        if self._by == "event" or not started:
            return started
        earlier = stored_before(
            self._engine, sorted({subject for _, subject in started}), span.from_ms, self._reach
        )
        self._started -= earlier
        return [one for one in started if one[1] not in earlier]

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


_CREATION: Final = "/process_creation"
_NOTHING: Final[Mapping[str, Any]] = {}
