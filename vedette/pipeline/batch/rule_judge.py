"""Asks the rules of every event of a commit, while what filters, folding and storing leave out is
still there.

It runs after segments were assigned: by then the assigner knows all that is known of the processes
of the commit and of their parents. Records that the server does not keep are judged, too; those
that are duplicates, rejected, or dropped by an ingress filter are not.

Hits are collapsed by rule and process (or record) within a commit: the first one has its values,
the others are counted. Hits that a correlation is about differ by the values it asks for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import thread_time_ns
from typing import Final

import structlog
import xxhash
from msgspec import Struct

from vedette import limits
from vedette.detect.anchors import Anchor
from vedette.detect.frequency import NOTHING_KNOWN, FrequencySample
from vedette.detect.judged_rule import JudgedRule
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
    sources_of_record,
)
from vedette.ingest.record import Record
from vedette.model.event import BinarySeen, Facts, Kept, Outcome
from vedette.model.findings.detection import RuleCost, RuleHit
from vedette.pipeline.batch.decoded_batch import DecodedBatch
from vedette.pipeline.batch.host_cache import Host
from vedette.pipeline.batch.segment_assigner import SegmentAssigner
from vedette.pipeline.receipt_outcomes import NOT_KEPT

log = structlog.get_logger(__name__)

_PRODUCTS: Final = {"osx": "macos", "": "linux"}
_CREATION: Final = "/process_creation"


class Judged(Struct):
    """The hits of a commit by rule and subject."""

    hits: dict[tuple[str, int, str, tuple[object, ...]], RuleHit]
    first_of: dict[str, RuleHit]
    """The first hit of each rule, which also counts those above the limit."""
    rows_of: dict[str, int]


OnHit = Callable[[Rule, Event, Host, str], None]
"""Called for each hit of `each_hit`, with the rule, the event, its host and its process id."""


class RuleJudge:
    """The rules that are in force, and what they cost. Not thread-safe: owned by the batch
    processor."""

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

    def use(self, generation: int, rules: Sequence[JudgedRule]) -> None:
        """Sets the rules from the next commit on. They are looked up by anchors that were measured
        for earlier rules, and by guessed ones until `DETECT_SAMPLE_EVENTS` events have shown which
        are rare."""
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
        """What rules cost and found since the last call; without those that nothing led to."""
        return [] if self._set is None else self._set.take_costs()

    def judge(self, batches: Iterable[DecodedBatch]) -> list[RuleHit]:
        """The hits of a commit, in order of the first event of each."""
        judged = Judged({}, {}, {})
        for batch in batches:
            for n, event, hit_rules, process_id in self._hits(batch):
                host, record = batch.hosts[n], batch.records[n]
                subject = process_id or _record_name(batch.keys[n], record, event)
                for rule in hit_rules:
                    self._add(judged, rule, event, host, process_id, subject)
        return list(judged.hits.values())

    def each_hit(self, batches: Iterable[DecodedBatch], on_hit: OnHit) -> None:
        """Calls `on_hit` for every hit, not collapsed."""
        for batch in batches:
            for n, event, hit_rules, process_id in self._hits(batch):
                for rule in hit_rules:
                    on_hit(rule, event, batch.hosts[n], process_id)

    @property
    def events(self) -> int:
        """Events that any rule was asked of, since the rules were set."""
        return 0 if self._set is None else self._set.events

    def _hits(self, batch: DecodedBatch) -> Iterator[tuple[int, Event, list[Rule], str]]:
        """Place in the batch, event, the rules that fire on it, and the process that acts."""
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
                for event, actor in self._events(record, host, outcomes):
                    rules = self._judged(event)
                    if rules:
                        yield n, event, rules, actor()
            except Exception as error:
                # The record itself is stored: only the rest of its rules go without it.
                if not self._is_failing:
                    log.exception("rules could not be asked of a record", error=str(error))
                    self._is_failing = True

    def _judged(self, event: Event) -> list[Rule]:
        assert self._set is not None
        found = self._set.firing(event)
        while self._set.broken:
            rule_id, error = self._set.broken.pop()
            log.error("a rule cannot be asked; it is left out", rule=rule_id, error=error)
        if self._sample is not None:
            self._sample.add(event)
            if self._sample.events >= limits.DETECT_SAMPLE_EVENTS:
                self._frequency = self._sample.shares()
                self._set.use_frequency(self._frequency)
                self._sample = None
        return found

    def _events(
        self, record: Record, host: Host, outcomes: list[Outcome]
    ) -> Iterator[tuple[Event, Callable[[], str]]]:
        """The events of a record, each with the identity of its process."""
        assert self._set is not None
        facts = self._assigner.facts
        if record.vedette_record == "windows":
            sources = sources_of_record(record)
            if not self._set.wants(sources):
                return
            actor = _actor(record, host, outcomes)
            is_creation = sources[0].endswith(_CREATION)
            known = process_lookup(
                actor,
                facts,
                is_creation=is_creation,
                target_id=lambda: _named(record, host, TARGET_GUIDS),
            )
            yield event_of_record(record, "", known), actor
            return
        os_type = host.sensor.os_type
        product = _PRODUCTS.get(os_type, os_type)

        def known_of(process_id: str) -> Lookup:
            return process_lookup(lambda: process_id, facts, is_creation=False)

        for event in events_of_outcomes(record, outcomes, product, known_of):
            yield event, _constant(event.process_id)

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
        if known is None and judged.rows_of.get(rule.id, 0) >= limits.RULE_HITS_A_COMMIT_MAX:
            known = judged.first_of[rule.id]
        if known is not None:
            known.count += 1
            known.last_us = max(known.last_us, event.time_us)
            return
        hit = judged.hits[key] = RuleHit(
            rule_id=rule.id,
            generation=self.generation,
            sensor_id=host.sensor.id,
            subject=subject,
            process_id=process_id,
            segment_id=self._assigner.newest_segment(process_id) if process_id else 0,
            md5=str(self._assigner.facts(process_id).get("process_md5", "")),
            time_us=event.time_us,
            last_us=event.time_us,
            matched=_bounded(matched_fields(rule.condition, event).items()),
            event=_snapshot(rule, event),
        )
        judged.first_of.setdefault(rule.id, hit)
        judged.rows_of[rule.id] = judged.rows_of.get(rule.id, 0) + 1


def _readable(rules: Iterable[JudgedRule]) -> Iterator[Rule]:
    """The rules, without those that cannot be read: a commit must not fail because of one."""
    for one in rules:
        try:
            yield one.rule()
        except ValueError as error:
            log.error("a rule cannot be read; it is left out", rule=one.id, error=str(error))


def _actor(record: Record, host: Host, outcomes: list[Outcome]) -> Callable[[], str]:
    """Identity of an event-log record's acting process, "" for one without any: the one that the
    record names, else the one that its first event was assigned to."""

    def actor() -> str:
        named = _named(record, host, ACTOR_GUIDS)
        if named:
            return named
        first = outcomes[0] if outcomes else None
        if first is None or isinstance(first, BinarySeen | Kept):
            return ""
        if isinstance(first, Facts) and first.values and not first.values.get("creation_observed"):
            return ""  # without values it is an event that another record reported as well
        return first.process_id

    return actor


def _named(record: Record, host: Host, names: Iterable[str]) -> str:
    """The process of the first of these members that names a known one."""
    for name in names:
        guid = record.data.get(name)
        known = host.context.named(guid) if isinstance(guid, str) and guid else None
        if known is not None:
            return known.id
    return ""


def _constant(process_id: str) -> Callable[[], str]:
    return lambda: process_id


def _record_name(key: int, record: Record, event: Event) -> str:
    """Names a record of no process: by its number, or by what it says."""
    if key:
        return f"record:{key:x}"
    said = f"{record.time_us}\x00{record.channel}\x00{record.event_id}\x00" + "\x00".join(
        f"{name}={event.value(name)}" for name in sorted(map(str, event.data))
    )
    return f"record:{xxhash.xxh3_128_hexdigest(said.encode('utf-8', 'surrogatepass'))}"


def _snapshot(rule: Rule, event: Event) -> dict[str, str]:
    """The event's own values, and those of its process that the rule asked for."""
    own = ((str(name), text_of(value)) for name, value in event.data.items())
    asked = ((name, event.value(name)) for name in sorted(rule.fields.difference(event.data)))
    return _bounded((*own, *asked))


def _bounded(values: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Values that are not empty, cut where they are long, as many as have room."""
    found: dict[str, str] = {}
    room = limits.RULE_HIT_CHARS_MAX
    for name, value in values:
        if not value:
            continue
        name = name[: limits.RULE_HIT_NAME_CHARS_MAX]
        value = value[: min(limits.RULE_HIT_VALUE_CHARS_MAX, room)]
        room -= len(name) + len(value)
        if room <= 0:
            break
        found[name] = value
    return found
