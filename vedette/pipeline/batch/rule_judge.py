"""Evaluates the detection rules on every event of a commit, including data that filters, folding
and storing leave out.

Runs after segments were assigned: by then the assigner has all metadata of the commit's processes
and of their parents. Rules also see records that the server does not keep, but not records that are
duplicates, rejected, or dropped by an ingress filter.

Hits are collapsed by rule and process (or record) within a commit: the first hit has its values,
the others are counted. Hits that a correlation uses stay separate if the values it groups by
differ. A rule that fires often loses detail, never attribution:

    `RULE_HITS_A_COMMIT_MAX` hits of a rule, the first on each host    all values of the event
    `RULE_HITS_PLAIN_MAX`, `CORRELATED_HITS_PLAIN_MAX` further hits    host, process, time, group
    the rest                                                           a count per rule and host
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import thread_time_ns
from typing import Any, Final

import structlog
import xxhash
from msgspec import Struct

from vedette.detect.anchors import Anchor
from vedette.detect.frequency import NOTHING_KNOWN, FrequencySample
from vedette.detect.judged_rule import JudgedRule
from vedette.detect.process_fields import Facts as FactsOf
from vedette.detect.process_fields import process_lookup
from vedette.detect.rule import Rule
from vedette.detect.rule_set import RuleSet
from vedette.detect.verify import matched_fields
from vedette.detect.views.event import Event, Lookup, text_of
from vedette.detect.views.unix import events_of_outcomes
from vedette.detect.views.windows import (
    ACTOR_GUIDS,
    TARGET_GUIDS,
    event_of_record,
    is_plain,
    sources_of_record,
)
from vedette.ingest.record import Record
from vedette.limits import Limit
from vedette.model.event import BinarySeen, Facts, Kept, Outcome
from vedette.model.findings.detection import FURTHER_HITS, UNCORRELATED, RuleCost, RuleHit
from vedette.pipeline.batch.decoded_batch import DecodedBatch
from vedette.pipeline.batch.host_cache import Host
from vedette.pipeline.batch.segment_assigner import SegmentAssigner
from vedette.pipeline.receipt_outcomes import NOT_KEPT

DETECT_SAMPLE_EVENTS: Limit[int] = 4_096
"""Events that are sampled for their values before rules choose the anchors of their lookup."""

RULE_HITS_A_COMMIT_MAX: Limit[int] = 1_000
"""Hits of one rule in one commit that keep the values of their event, besides the first hit on each
host. Further hits keep their host, process, time and the values that correlations group by."""

RULE_HITS_PLAIN_MAX: Limit[int] = 10_000
"""Hits without the values of their event in one commit, over all rules that no correlation names.
Further hits are counted per rule and host. An alert takes about 50 us to count such a hit."""

CORRELATED_HITS_PLAIN_MAX: Limit[int] = 50_000
"""Hits without the values of their event in one commit, over all rules that correlations name: as
many as a commit has events. Further hits are counted per rule and host and reach no correlation."""

RULE_HIT_CHARS_MAX: Limit[int] = 65_536
"""Characters of all event values stored with a hit."""

RULE_HIT_VALUE_CHARS_MAX: Limit[int] = 8_192
"""Characters of one value stored with a hit; a Windows command line has up to 32,767."""

RULE_HIT_NAME_CHARS_MAX: Limit[int] = 256
"""Characters of the name of a value stored with a hit."""


log = structlog.get_logger(__name__)

_PRODUCTS: Final = {"osx": "macos", "": "linux"}
_CREATION: Final = "/process_creation"


_HitKey = tuple[str, int, str, tuple[object, ...]]
"""Rule, sensor, subject, and the time and values that correlations group by."""


class Judged(Struct):
    """The hits of a commit by rule and subject."""

    hits: dict[_HitKey, RuleHit]
    rows_of: dict[str, int]
    """Maps rule id to the number of its hits with the values of their event."""
    hosts: set[tuple[str, int]]
    """(rule, sensor) pairs that have a hit with the values of its event."""
    plain: int = 0
    """Number of hits without the values of their event, of rules that no correlation names."""
    plain_correlated: int = 0
    """Number of hits without the values of their event, of rules that correlations name."""

    def takes_details(self, rule_id: str, sensor_id: int) -> bool:
        """Counts one more hit; returns whether it keeps the values of its event."""
        rows = self.rows_of.get(rule_id, 0)
        host = (rule_id, sensor_id)
        if rows >= RULE_HITS_A_COMMIT_MAX and host in self.hosts:
            return False
        self.rows_of[rule_id] = rows + 1
        self.hosts.add(host)
        return True

    def takes_plain(self, *, is_correlated: bool) -> bool:
        """Counts one more hit without the values of its event; returns whether it is kept
        separately."""
        if is_correlated:
            self.plain_correlated += 1
            return self.plain_correlated <= CORRELATED_HITS_PLAIN_MAX
        self.plain += 1
        return self.plain <= RULE_HITS_PLAIN_MAX


OnHit = Callable[[Rule, Event, Host, str], None]
"""Callback of `each_hit`, with the rule, the event, its host and its process id."""


class RuleJudge:
    """The active rules and their costs. Not thread-safe: owned by the batch processor."""

    def __init__(self, assigner: SegmentAssigner) -> None:
        self.generation = 0
        self._assigner = assigner
        self._rules: tuple[Rule, ...] = ()
        self._grouping_fields: dict[str, tuple[str, ...]] = {}
        self._set: RuleSet | None = None
        self._sample: FrequencySample | None = None
        self._frequency: Mapping[Anchor, float] = NOTHING_KNOWN
        """Measured on this worker's events; kept when the rules change."""
        self._is_failing = False
        self._arrived: dict[tuple[str, ...], int] = {}
        """Number of events by their classes."""

    def use(self, generation: int, rules: Sequence[JudgedRule]) -> None:
        """Sets the rules from the next commit on. They are looked up by anchors measured for
        earlier rules, and by estimated ones until `DETECT_SAMPLE_EVENTS` events have shown which
        anchors are rare."""
        self.generation = generation
        self._rules = tuple(_readable(rules))
        self._grouping_fields = {
            one.id: one.grouping_fields for one in rules if one.grouping_fields is not None
        }
        self._set = None
        self._sample = None
        if self._rules:
            self._set = RuleSet(self._rules, self._frequency, thread_time_ns)
            sample = FrequencySample(self._rules, self._frequency)
            self._sample = sample if sample.is_needed else None

    def take_costs(self) -> list[RuleCost]:
        """Returns costs and hits of rules since the last call, without rules that were never
        candidates."""
        return [] if self._set is None else self._set.take_costs()

    def take_arrived(self) -> dict[str, int]:
        """Returns the number of events of each class since the last call. Events are counted
        whether or not a rule applies to them, but only while there are rules."""
        arrived: Counter[str] = Counter()
        for sources, count in self._arrived.items():
            arrived.update(dict.fromkeys(sources, count))
        self._arrived = {}
        return dict(arrived)

    def judge(self, batches: Iterable[DecodedBatch]) -> list[RuleHit]:
        """Returns the hits of a commit, in order of the first event of each."""
        judged = Judged({}, {}, set())
        for batch in batches:
            for n, event, hit_rules, process_id in self._hits(batch):
                host, record = batch.hosts[n], batch.records[n]
                subject = process_id or _record_name(batch.keys[n], record, event)
                for rule in hit_rules:
                    self._add(judged, rule, event, host, process_id, subject)
        return list(judged.hits.values())

    def each_hit(self, batches: Iterable[DecodedBatch], on_hit: OnHit) -> None:
        """Calls `on_hit` for every hit, without collapsing."""
        for batch in batches:
            for n, event, hit_rules, process_id in self._hits(batch):
                for rule in hit_rules:
                    on_hit(rule, event, batch.hosts[n], process_id)

    @property
    def events(self) -> int:
        """Events on which any rule was evaluated since the rules were set."""
        return 0 if self._set is None else self._set.events

    def _hits(self, batch: DecodedBatch) -> Iterator[tuple[int, Event, list[Rule], str]]:
        """Yields (index in the batch, event, rules that fire on it, id of the acting process)."""
        if self._set is None:
            return
        for n, (record, host, result) in enumerate(
            zip(batch.records, batch.hosts, batch.results, strict=True)
        ):
            if isinstance(result, list):
                outcomes = result
            elif type(result) is int and result == NOT_KEPT:
                outcomes = []
            else:
                continue
            try:
                if record.vedette_record in ("windows", "log"):
                    made = RecordEvent(record, host, outcomes, self._assigner.facts)
                    if rules := self._judged_record(made):
                        yield n, made.event(), rules, made.actor()
                    continue
                for event in self._events(record, host, outcomes):
                    self._arrived[event.sources] = self._arrived.get(event.sources, 0) + 1
                    if rules := self._judged(event):
                        yield n, event, rules, event.process_id
            except Exception as error:
                # The record itself is stored; only its remaining rules are skipped.
                if not self._is_failing:
                    log.exception("rule evaluation failed for a record", error=str(error))
                    self._is_failing = True

    def _judged_record(self, made: "RecordEvent") -> list[Rule]:
        """Returns the rules that fire on an event-log record. Builds its event only if a rule may
        match, which is rare."""
        rules, record = self._set, made.record
        assert rules is not None
        self._arrived[made.sources] = self._arrived.get(made.sources, 0) + 1
        if not rules.wants(made.sources):
            return []
        if self._sample is not None or not is_plain(record):
            return self._judged(made.event())
        found = rules.candidates_of(
            made.sources, record.event_id, record.data, made.facts, made.event
        )
        if not found:
            return []
        fired = rules.firing_among(found, made.event())
        self._report_broken()
        return fired

    def _judged(self, event: Event) -> list[Rule]:
        assert self._set is not None
        found = self._set.firing(event)
        self._report_broken()
        if self._sample is not None:
            self._sample.add(event)
            if self._sample.events >= DETECT_SAMPLE_EVENTS:
                self._frequency = self._sample.shares()
                self._set.use_frequency(self._frequency)
                self._sample = None
        return found

    def _report_broken(self) -> None:
        assert self._set is not None
        while self._set.broken:
            rule_id, error = self._set.broken.pop()
            log.error("cannot evaluate a rule; skipping it", rule=rule_id, error=error)

    def _events(self, record: Record, host: Host, outcomes: list[Outcome]) -> Iterator[Event]:
        """Yields the events of a record that does not come from an event log."""
        facts = self._assigner.facts
        os_type = host.sensor.os_type
        product = _PRODUCTS.get(os_type, os_type)

        def known_of(process_id: str) -> Lookup:
            return process_lookup(lambda: process_id, facts, is_creation=False)

        return events_of_outcomes(record, outcomes, product, known_of)

    def _add(
        self,
        judged: Judged,
        rule: Rule,
        event: Event,
        host: Host,
        process_id: str,
        subject: str,
    ) -> None:
        apart = self._grouping_fields.get(rule.id)
        values = () if apart is None else (event.time_us, *map(event.value, apart))
        key = (rule.id, host.sensor.id, subject, values)
        known = judged.hits.get(key)
        has_details = known is None and judged.takes_details(rule.id, host.sensor.id)
        event_values: dict[str, str] = {}
        if known is None and not has_details:
            if judged.takes_plain(is_correlated=apart is not None):
                event_values = _bounded((name, event.value(name)) for name in apart or ())
            else:
                key = (rule.id, host.sensor.id, FURTHER_HITS, ())
                known = judged.hits.get(key)
                subject, process_id = FURTHER_HITS, ""
                event_values = {} if apart is None else {UNCORRELATED: "true"}
        if known is not None:
            known.count += 1
            known.time_us = min(known.time_us, event.time_us)
            known.last_us = max(known.last_us, event.time_us)
            return
        process = self._assigner.facts(process_id)
        judged.hits[key] = RuleHit(
            rule_id=rule.id,
            rule_name=rule.title,
            level=rule.level,
            generation=self.generation,
            sensor_id=host.sensor.id,
            subject=subject,
            process_id=process_id,
            segment_id=self._assigner.newest_segment(process_id) if process_id else 0,
            process_name=str(process.get("process_name", "")),
            username=str(process.get("username", "")),
            md5=str(process.get("process_md5", "")),
            time_us=event.time_us,
            last_us=event.time_us,
            matched=_bounded(matched_fields(rule.condition, event).items()) if has_details else {},
            event=_snapshot(rule, event) if has_details else event_values,
        )


def _readable(rules: Iterable[JudgedRule]) -> Iterator[Rule]:
    """Yields the rules that can be decoded, because an undecodable rule must not fail a commit."""
    for one in rules:
        try:
            yield one.rule()
        except ValueError as error:
            log.error("cannot load a rule; skipping it", rule=one.id, error=str(error))


class RecordEvent:
    """The event of an event-log record, and the acting process; each is computed on first use."""

    __slots__ = ("_event", "_facts", "_facts_of", "_host", "_outcomes", "record", "sources")

    def __init__(
        self, record: Record, host: Host, outcomes: list[Outcome], facts_of: FactsOf
    ) -> None:
        self.record = record
        self.sources = sources_of_record(record)
        self._host = host
        self._outcomes = outcomes
        self._facts_of = facts_of
        self._facts: Mapping[str, Any] | None = None
        self._event: Event | None = None

    def event(self) -> Event:
        """Returns the event, whose values come from the metadata of its processes."""
        if self._event is None:
            record, host, outcomes = self.record, self._host, self._outcomes
            # The closures must not refer to `self`: a cycle lives until it is garbage-collected.
            known = process_lookup(
                lambda: _actor(record, host, outcomes),
                self._facts_of,
                is_creation=self.sources[0].endswith(_CREATION),
                target_id=lambda: _named(record, host, TARGET_GUIDS),
            )
            self._event = event_of_record(record, "", known)
        return self._event

    def facts(self) -> Mapping[str, Any]:
        """Returns the metadata of the acting process."""
        if self._facts is None:
            actor = self.actor()
            self._facts = self._facts_of(actor) if actor else {}
        return self._facts

    def actor(self) -> str:
        """Returns the id of the acting process, "" for a record without one."""
        return _actor(self.record, self._host, self._outcomes)


def _actor(record: Record, host: Host, outcomes: list[Outcome]) -> str:
    """Returns the process that a record names as acting, else the process of its first event; ""
    for a record without one."""
    named = _named(record, host, ACTOR_GUIDS)
    if named:
        return named
    first = outcomes[0] if outcomes else None
    if first is None or isinstance(first, BinarySeen | Kept):
        return ""
    if isinstance(first, Facts) and first.values and not first.values.get("creation_observed"):
        return ""  # without values it is an event that another record also reported
    return first.process_id


def _named(record: Record, host: Host, names: Iterable[str]) -> str:
    """Returns the id of the process that the first of these fields with a cached process names."""
    for name in names:
        guid = record.data.get(name)
        known = host.context.named(guid) if isinstance(guid, str) and guid else None
        if known is not None:
            return known.id
    return ""


def _record_name(key: int, record: Record, event: Event) -> str:
    """Returns a name for a record without a process, from its number or its content."""
    if key:
        return f"record:{key:x}"
    said = f"{record.time_us}\x00{record.channel}\x00{record.event_id}\x00" + "\x00".join(
        f"{name}={event.value(name)}" for name in sorted(map(str, event.data))
    )
    return f"record:{xxhash.xxh3_128_hexdigest(said.encode('utf-8', 'surrogatepass'))}"


def _snapshot(rule: Rule, event: Event) -> dict[str, str]:
    """Returns the event's own values, and the values of its process that the rule reads."""
    own = ((str(name), text_of(value)) for name, value in event.data.items())
    asked = ((name, event.value(name)) for name in sorted(rule.fields.difference(event.data)))
    return _bounded((*own, *asked))


def _bounded(values: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the values that are not empty, truncated, up to the total size limit."""
    found: dict[str, str] = {}
    room = RULE_HIT_CHARS_MAX
    for name, value in values:
        if not value:
            continue
        name = name[:RULE_HIT_NAME_CHARS_MAX]
        value = value[: min(RULE_HIT_VALUE_CHARS_MAX, room)]
        room -= len(name) + len(value)
        if room <= 0:
            break
        found[name] = value
    return found
