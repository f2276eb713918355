"""Converts rule hits to detections, behind a watermark, in the order of commits.

Hits are stored with the events that caused them, so every hit becomes an alert even if the server
is killed in between: the transaction that ends writing (`Written`) saves the watermark, and a hit
that is read twice gives the same detection.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from vedette.alerting.correlator import Correlated, correlate, silent_rules
from vedette.alerting.detection_writer import DetectionWriter, Quiet
from vedette.clock import Clock
from vedette.detect.correlation import Correlation, rules_of
from vedette.detect.rule import SEVERITY, Rule, techniques_of
from vedette.detect.rule_codec import CodecError, decoded_correlation, decoded_rule
from vedette.limits import Limit
from vedette.model.findings.detection import UNCORRELATED, Detection, RuleHit, Source
from vedette.state.db.database import Database, Transaction
from vedette.state.jobs import correlation_groups, watermarks
from vedette.state.policy import rules
from vedette.state.policy.sigma.correlation_rules import blocked_rules
from vedette.state.policy.sigma_rule import SigmaRule
from vedette.store.engine.client import Engine
from vedette.store.read.detection.rule_hits import HitPage, StoredHit, hits_after
from vedette.store.write.hit_outcomes import QuietHit, write_hit_outcomes

RULE_HITS_A_ROUND: Limit[int] = 5_000
"""Hits that become alerts in one transaction. Commits are not split, so one commit may have
more."""


WATERMARK: Final = "rule hits"


def processed_seq(database: Database) -> int:
    """Returns the newest commit whose hits were processed; 0 if there is none."""
    return watermarks.load(database, WATERMARK) or 0


_SECONDS = (0.25, 0.5, 1, 2, 3, 5, 7.5, 10, 15, 30, 60, 300)


class HitMetrics:
    """Metrics of hits on their way to alerts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.hits = Counter("vedette_rule_hits", "Rule hits read for alerting.", registry=registry)
        self.latency = Histogram(
            "vedette_alert_seconds",
            "Time from the commit of an event to the alert of a rule.",
            buckets=_SECONDS,
            registry=registry,
        )
        self._overflow = Counter(
            "vedette_rule_hits_overflow",
            "Rule hits stored only as counts per rule and host; `correlated` says whether "
            "a correlation names the rule and did not get the hits.",
            ["correlated"],
            registry=registry,
        )
        for correlated in ("false", "true"):
            self._overflow.labels(correlated)

    def count_overflow(self, hits: Iterable[RuleHit]) -> None:
        """Counts hits that were aggregated per rule and host."""
        for hit in hits:
            if hit.is_counted_per_host:
                self._overflow.labels(hit.event.get(UNCORRELATED, "false")).inc(hit.count)


@dataclass(frozen=True, slots=True)
class KnownRule:
    """The facts about a rule that its alerts show."""

    stored: SigmaRule
    rule: Rule | None
    """None if its compiled form cannot be read any more."""

    @property
    def name(self) -> str:
        """Name by which correlations may refer to it."""
        return self.rule.name if self.rule is not None else ""


class RuleHits:
    """Follows the hits. `follow` is a background job; one of several servers works at a time.
    Thread-safe."""

    def __init__(
        self,
        engine: Engine,
        database: Database,
        detections: DetectionWriter,
        settled_seq: Callable[[], int],
        clock: Clock,
        metrics: HitMetrics,
    ) -> None:
        """`settled_seq` returns the newest commit up to which all commits have ended."""
        self._engine = engine
        self._database = database
        self._detections = detections
        self._settled_seq = settled_seq
        self._clock = clock
        self._metrics = metrics
        self._lock = Lock()
        self._generation = -1
        self._in_force: tuple[Correlation, ...] = ()
        self._looked_at = -1
        """The newest settled commit when nothing was left to read."""

    def follow(self) -> int:
        """Writes the detections of all hits of settled commits and returns the number of hits.
        Raises UnavailableError; the next call continues at the same place."""
        done = 0
        with self._lock:
            settled = self._settled_seq()
            while self._looked_at != settled:
                with self._database.exclusive(WATERMARK):
                    page = self._write_next(settled)
                if not page.hits or page.until_seq == settled:
                    self._looked_at = settled
                done += len(page.hits)
        return done

    def _write_next(self, settled: int) -> HitPage:
        """Writes the detections of the next commits and returns their hits."""
        since = processed_seq(self._database)
        page = hits_after(self._engine, since, settled, RULE_HITS_A_ROUND)
        if page.hits:
            self._write(page)
        return page

    def _write(self, page: HitPage) -> None:
        known = self._known({one.hit.rule_id for one in page.hits})
        correlations = self._correlations()
        names = {rule_id: one.name for rule_id, one in known.items()}
        silent = silent_rules(correlations, names)
        hits = sorted(page.hits, key=_order)
        done = correlate(
            self._database,
            correlations,
            [(one.hit, one.seq, names.get(one.hit.rule_id, "")) for one in hits],
        )
        found = [
            _detection(one, known.get(one.hit.rule_id))
            for one in hits
            if one.hit.rule_id not in silent or UNCORRELATED in one.hit.event
        ]
        found += self._correlated(done.found)
        now_us = self._clock.now_us()

        def within(transaction: Transaction) -> None:
            done.save(transaction, now_us)
            watermarks.save(transaction, WATERMARK, page.until_seq)

        def record_quiet(quiet: Quiet) -> None:
            write_hit_outcomes(self._engine, _outcomes(hits, silent, quiet))

        self._detections.write(found, within, record_quiet)
        self._metrics.hits.inc(len(page.hits))
        self._metrics.count_overflow(one.hit for one in page.hits)
        now_us = self._clock.now_us()
        for committed_us in {one.committed_us for one in page.hits}:
            self._metrics.latency.observe(max(0, now_us - committed_us) / 1_000_000)

    def _correlations(self) -> Sequence[Correlation]:
        """Returns the correlations in force; reloads them after a change of any rule."""
        generation = rules.generation(self._database)
        if generation != self._generation:
            with self._database.reading() as connection:
                blocked = blocked_rules(connection)
            # Rules of a correlation that cannot fire raise their own alerts.
            self._in_force = tuple(
                one
                for document in rules.evaluated(self._database)[1]
                if document.kind == "correlation"
                and document.id not in blocked
                and (one := _readable_correlation(document.compiled)) is not None
            )
            self._generation = generation
        return self._in_force

    def forget(self) -> None:
        """Deletes correlation state that is no longer needed. Call periodically."""
        spans_us = {one.id: one.timespan_us for one in self._correlations()}
        correlation_groups.forget(self._database, spans_us, self._clock.now_us())

    def _correlated(self, found: Sequence[Correlated]) -> list[Detection]:
        stored = rules.named(self._database, {one.rule.id for one in found})
        return [_correlation_detection(one, stored.get(one.rule.id)) for one in found]

    def _known(self, ids: Iterable[str]) -> Mapping[str, KnownRule]:
        return {
            rule_id: KnownRule(stored, _readable(stored))
            for rule_id, stored in rules.named(self._database, ids).items()
        }


def _readable(stored: SigmaRule) -> Rule | None:
    try:
        return decoded_rule(stored.rule.compiled.encode())
    except CodecError:
        return None


def _readable_correlation(compiled: str) -> Correlation | None:
    try:
        return decoded_correlation(compiled.encode())
    except CodecError:
        return None


def _correlation_detection(found: Correlated, stored: SigmaRule | None) -> Detection:
    rule, finding = found.rule, found.finding
    counts = {rule.rules[place]: str(count) for place, count in rules_of(finding).items()}
    return Detection(
        source=Source("rule", rule.id),
        source_name=rule.title,
        alert_type="watchlist.hit.ingress.host",
        subject=found.subject,
        time_us=finding.first_us,
        last_us=finding.last_us,
        sensor_id=found.sensor_id,
        title=rule.title,
        description=rule.description,
        severity=SEVERITY[rule.level],
        level=rule.level,
        tags=rule.tags,
        techniques=techniques_of(rule.tags),
        false_positives=rule.false_positives,
        rule_text=stored.rule.text if stored is not None else "",
        rule_version=_version(stored) if stored is not None else "",
        matched={**found.values, **counts},
        event=found.last.event if found.sensor_id else found.values,
        count=finding.count,
        seq=found.seq,
    )


def _detection(found: StoredHit, known: KnownRule | None) -> Detection:
    hit = found.hit
    stored = known.stored if known is not None else None
    rule = known.rule if known is not None else None
    level = rule.level if rule is not None else "medium"
    return Detection(
        source=Source("rule", hit.rule_id),
        source_name=stored.rule.title if stored is not None else hit.rule_id,
        alert_type="watchlist.hit.query.process"
        if hit.process_id
        else "watchlist.hit.ingress.host",
        subject=hit.subject,
        time_us=hit.time_us,
        last_us=hit.last_us,
        sensor_id=hit.sensor_id,
        process_id=hit.process_id,
        segment_id=hit.segment_id,
        md5=hit.md5,
        title=stored.rule.title if stored is not None else hit.rule_id,
        description=_description(hit, rule.description if rule is not None else ""),
        link=_first(rule.references) if rule is not None else "",
        severity=SEVERITY[level],
        level=level,
        tags=rule.tags if rule is not None else (),
        techniques=rule.techniques if rule is not None else (),
        false_positives=rule.false_positives if rule is not None else (),
        rule_text=stored.rule.text if stored is not None else "",
        rule_version=_version(stored) if stored is not None else "",
        matched=hit.matched,
        event=hit.event,
        count=hit.count,
        seq=found.seq,
    )


def _outcomes(
    hits: Iterable[StoredHit], silent: Collection[str], quiet: Quiet
) -> Iterator[QuietHit]:
    """The hits that made no alert; `silent` are the rules that only correlations count."""
    for one in hits:
        is_silent = one.hit.rule_id in silent and UNCORRELATED not in one.hit.event
        outcome = "correlation" if is_silent else quiet.get(one.hit.alert_id)
        if outcome is not None:
            yield QuietHit(one.partition_ms, one.hit.sensor_id, one.seq, one.hit.alert_id, outcome)


def _order(stored: StoredHit) -> tuple[int, bool, int]:
    """Sorts by commit and time; counts per host come last, so that they do not use up the hour's
    alerts before the hits that they belong to."""
    return stored.seq, stored.hit.is_counted_per_host, stored.hit.time_us


def _description(hit: RuleHit, description: str) -> str:
    if not hit.is_counted_per_host:
        return description
    counted = "Further hits on this host; one request or import had too many to store individually."
    if UNCORRELATED in hit.event:
        counted += " Correlations did not get these hits."
    return f"{counted} {description}".strip()


def _version(stored: SigmaRule) -> str:
    """Returns the rule's own date and its revision here."""
    return " ".join(filter(None, (stored.rule.version, f"revision {stored.revision}")))


def _first(texts: Sequence[str]) -> str:
    return texts[0] if texts else ""
