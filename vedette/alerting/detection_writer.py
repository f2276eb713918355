"""The single path from detections to alerts.

    ignored reports -> host, process, file -> suppressions -> storms -> alerts -> hooks

The telemetry store contains the alerts, the state database everything else. So a batch is written
in two steps: first its alerts, then one transaction with the hooks, the counters and the caller's
watermark. After a crash between any two statements, the caller writes the same detections again
from the old watermark, possibly in another batch. The writer recognizes an existing alert by its
id, counted detections by their commit number (`Detection.seq`), and missing notifications by the
commit that created the alert.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from vedette.alerting.alert_rows import (
    Context,
    new_alert,
    raised,
    set_creation_times,
    was_made_for,
)
from vedette.alerting.alert_storm import Hours, hour_of, hours_of, storms
from vedette.alerting.hooks import AlertingSources, DetectionHook, WrittenDetection, every_source
from vedette.alerting.suppressed import Suppressor, suppressor_of
from vedette.clock import Clock
from vedette.limits import ALERT_LISTED_MAX, Limit
from vedette.model.findings.alert import AlertRow
from vedette.model.findings.detection import Detection, Source
from vedette.model.hit_fields import HitOutcome
from vedette.state.db.database import Database, Transaction
from vedette.state.policy import alert_workflow, ignored_reports, suppressions
from vedette.state.policy.alert_workflow import Settled
from vedette.state.policy.ignored_reports import ReportKey
from vedette.state.sensors.host_facts import HostFacts, host_facts
from vedette.state.servers import alert_writers
from vedette.store.engine.client import Engine
from vedette.store.read.detection.alert_context import hosts_by_file, paths_of_files, process_facts
from vedette.store.read.detection.alerts import alerts_by_id, new_alerts_since
from vedette.store.read.detection.cloud_alerts import newest_creation_us
from vedette.store.write.alerts import ALERT_WRITERS, write_alerts

ALERT_BATCH: Limit[int] = 2_000
"""Detections that are processed and written together."""

ALERT_SETTLED_US: Limit[int] = 15 * 60 * 1_000_000
"""Age (us) up to which v7 shows further detections of an alert (the API's 15 minutes). After it,
the alert has settled."""

CREATION_LOOKBACK_US: Limit[int] = 3600 * 1_000_000
"""Period (us) searched for the newest creation time of an alert. Creation times run ahead of the
clock by a millisecond per alert of a batch, never by an hour."""


Within = Callable[[Transaction], None]

Quiet = Mapping[str, HitOutcome]
"""Outcomes of the detections that made no alert, by detection id."""

OnQuiet = Callable[[Quiet], None]

_Kind = Literal["silent", "known", "new", "held back"]
"""Treatment of a detection. `silent`: its source raises no alerts; `known`: its alert exists;
`new`: it raises an alert; `held back`: it is counted in the alert of a storm."""

_WITH_ROW: Final[Collection[_Kind]] = ("silent", "new")


@dataclass(slots=True)
class Written:
    """Counts of a batch. Detections with the same id count once."""

    alerts: int = 0
    """New alerts."""
    raised: int = 0
    """Existing alerts with an increased count."""
    suppressed: int = 0
    of_ignored_reports: int = 0
    held_back: int = 0
    """Detections beyond the limit of an alert storm, counted in an alert of the server."""
    detections: list[WrittenDetection] = field(default_factory=list)
    """Detections that were passed to the hooks."""
    quiet: dict[str, HitOutcome] = field(default_factory=dict)
    """Outcomes of the detections that made no alert, by detection id."""


@dataclass(slots=True)
class _Batch:
    """State that the steps of one `write` share."""

    now_us: int
    sources: Collection[Source]
    """Sources whose alert action is enabled."""
    rules: Suppressor
    written: Written = field(default_factory=Written)
    report_hits: Counter[ReportKey] = field(default_factory=Counter)
    rule_hits: Counter[int] = field(default_factory=Counter)
    settled: dict[str, Settled] = field(default_factory=dict)
    """Times of settled alerts before this batch increases their count."""
    held_back: list[Detection] = field(default_factory=list)
    until_us: int | None = None
    """Time until which the store accepts the alerts of this batch; None before the first are sent,
    and for a single server."""


class DetectionWriter:
    """Writes detections. Safe to share between threads; one batch is written at a time."""

    def __init__(
        self,
        engine: Engine,
        database: Database,
        clock: Clock,
        hooks: Sequence[DetectionHook] = (),
        alerting: AlertingSources = every_source,
        fence_us: Callable[[], int] | None = None,
    ) -> None:
        """`fence_us` returns the end of this server's lease, if there are other servers."""
        self._engine = engine
        self._database = database
        self._clock = clock
        self._hooks = tuple(hooks)
        self._alerting = alerting
        self._fence_us = fence_us

    def write(
        self,
        detections: Sequence[Detection],
        within: Within | None = None,
        on_quiet: OnQuiet | None = None,
    ) -> Written:
        """Writes the alerts of detections, then runs the hooks and `within` (the caller's watermark
        and counters) in one transaction of the state database. `on_quiet` runs before that
        transaction, so a crash may repeat the call with the same outcomes.

        Idempotent, except that the hooks receive the detections of a possibly interrupted batch
        again. Detections of one commit must be in one call. Must not be called within a
        transaction. Raises UnavailableError; then any part may have been written, and the caller
        must write the detections again.
        """
        with self._database.exclusive(ALERT_WRITERS):
            alert_writers.check_over(self._database)
            batch = self._begin(detections)
            grouped = self._by_id_without_ignored(batch, detections)
            for some in _slices(grouped, ALERT_BATCH):
                self._write_alerts(batch, some)
            # Once for all slices, so that the storm's alert counts one commit in one step.
            self._write(batch, self._storms(batch))
            if on_quiet is not None:
                on_quiet(batch.written.quiet)
            with self._database.writing() as transaction:
                for hook in self._hooks:
                    hook(transaction, batch.written.detections)
                ignored_reports.count_hits(transaction, batch.report_hits)
                suppressions.count_hits(transaction, batch.rule_hits, batch.now_us)
                if within is not None:
                    within(transaction)
                if batch.until_us is not None:
                    alert_writers.end(transaction, batch.until_us)
        return batch.written

    def _begin(self, detections: Sequence[Detection]) -> _Batch:
        now_us = self._clock.now_us()
        sources = list(dict.fromkeys(one.source for one in detections))
        with self._database.reading() as transaction:
            rules = suppressor_of(suppressions.rules_in_force(transaction, now_us), now_us)
            return _Batch(now_us, frozenset(self._alerting(transaction, sources)), rules)

    def _by_id_without_ignored(
        self, batch: _Batch, detections: Sequence[Detection]
    ) -> list[list[Detection]]:
        """Returns the detections outside ignored reports, grouped by id, each group in order of
        commits."""
        reports = {key for one in detections if (key := _report_of(one)) is not None}
        with self._database.reading() as transaction:
            ignored = ignored_reports.ignored_among(transaction, reports)
        found: dict[str, list[Detection]] = {}
        for one in detections:
            key = _report_of(one)
            if key is not None and key in ignored:
                batch.report_hits[key] += 1
                batch.written.of_ignored_reports += 1
            else:
                found.setdefault(one.id, []).append(one)
        return [sorted(some, key=lambda one: (one.seq, one.time_us)) for some in found.values()]

    def _write_alerts(self, batch: _Batch, found: Sequence[list[Detection]]) -> None:
        """Writes the alerts of some detections, grouped by id."""
        rows: dict[str, AlertRow] = {}
        if batch.rules.rules:
            rows = self._rows(found, batch.now_us)
            quiet = {same[0].id for same in found if _suppressed(batch, rows[same[0].id])}
            batch.written.quiet.update(dict.fromkeys(quiet, "suppressed"))
            found = [same for same in found if same[0].id not in quiet]
        alerting = [same[0].id for same in found if same[0].source in batch.sources]
        known = alerts_by_id(self._engine, alerting)
        hours = self._hours(batch, (same[0] for same in found if same[0].id not in known))
        kinds = [_kind(batch, same[0], known, hours) for same in found]
        # In a storm nearly all detections are held back, so read the context only for alerts that
        # are created.
        made = [same for same, kind in zip(found, kinds, strict=True) if kind in _WITH_ROW]
        rows = rows or self._rows(made, batch.now_us)
        changed: list[AlertRow] = []
        for same, kind in zip(found, kinds, strict=True):
            key = same[0].id
            if kind == "silent":
                batch.written.quiet[key] = "off"
                said = _written(same, rows[key], has_alert=False, is_new=True)
                batch.written.detections.append(said)
            elif kind == "known":
                changed.extend(self._raise(batch, same, known[key]))
            elif kind == "new":
                changed.append(rows[key])
                batch.written.alerts += 1
                said = _written(same, rows[key], has_alert=True, is_new=True)
                batch.written.detections.append(said)
            else:
                batch.written.quiet[key] = "storm"
                batch.held_back.extend(same)
        self._write(batch, changed)

    def _write(self, batch: _Batch, rows: list[AlertRow]) -> None:
        """Writes versions of alerts. First stores the values of settled alerts that search v7
        shows, because the new version overwrites them."""
        if batch.settled:
            with self._database.writing() as transaction:
                alert_workflow.keep_settled(transaction, batch.settled)
            batch.settled = {}
        new = [row for row in rows if row["version"] == row["created_time"]]
        if new:
            newest_us = newest_creation_us(self._engine, batch.now_us - CREATION_LOOKBACK_US)
            set_creation_times(new, batch.now_us, newest_us)
        if rows and self._fence_us is not None and batch.until_us is None:
            until_us = self._fence_us()
            alert_writers.begin(self._database, until_us)
            batch.until_us = until_us
        write_alerts(self._engine, rows, batch.until_us)

    def _raise(self, batch: _Batch, same: list[Detection], known: AlertRow) -> list[AlertRow]:
        """Returns the next version of a stored alert if it does not count these detections yet,
        else []."""
        is_new = was_made_for(known, same[0])
        more = raised(known, same, batch.now_us)
        if more is not None and batch.now_us - known["created_time"] > ALERT_SETTLED_US:
            batch.settled[known["id"]] = Settled(
                known["first_event_time"], known["last_event_time"], known["updated_time"]
            )
        batch.written.raised += more is not None
        batch.written.detections.append(
            _written(same, more or known, has_alert=True, is_new=is_new)
        )
        return [more] if more is not None else []

    def _storms(self, batch: _Batch) -> list[AlertRow]:
        """Returns the alerts that count suppressed detections."""
        batch.written.held_back = len({one.id for one in batch.held_back})
        by_id: dict[str, list[Detection]] = {}
        for one in storms(batch.held_back, batch.now_us):
            by_id.setdefault(one.id, []).append(one)
        known = alerts_by_id(self._engine, by_id)
        rows: list[AlertRow] = []
        for alert_id, some in by_id.items():
            same = sorted(some, key=lambda one: one.seq)
            if alert_id in known:
                rows.extend(self._raise(batch, same, known[alert_id]))
                continue
            row = new_alert(same, Context(), batch.now_us)
            batch.written.alerts += 1
            batch.written.detections.append(_written(same, row, has_alert=True, is_new=True))
            rows.append(row)
        return rows

    def _hours(self, batch: _Batch, new: Iterable[Detection]) -> Hours:
        ids = sorted({one.source.id for one in new})
        counted = new_alerts_since(self._engine, hour_of(batch.now_us), ids) if ids else {}
        return hours_of(counted)

    def _rows(self, found: Sequence[list[Detection]], now_us: int) -> dict[str, AlertRow]:
        """Returns the alerts that the detections would raise, with all facts, by id."""
        firsts = [same[0] for same in found]
        with self._database.reading() as transaction:
            hosts = host_facts(transaction, {one.sensor_id for one in firsts if one.sensor_id})
        processes = process_facts(self._engine, {one.process_id for one in firsts} - {""})
        contexts = [
            Context(hosts.get(one.sensor_id), processes.get(one.process_id, {})) for one in firsts
        ]
        contexts = self._with_files(firsts, contexts)
        return {
            same[0].id: new_alert(same, context, now_us)
            for same, context in zip(found, contexts, strict=True)
        }

    def _with_files(self, found: Sequence[Detection], contexts: Sequence[Context]) -> list[Context]:
        """Adds facts about files to the contexts."""
        hashes = [_hash_of(one, of.process) for one, of in zip(found, contexts, strict=True)]
        hosts = hosts_by_file(self._engine, set(hashes) - {""})
        files = {
            (digest, one.sensor_id)
            for one, digest in zip(found, hashes, strict=True)
            if digest and not one.process_id
        }
        paths = paths_of_files(self._engine, files, ALERT_LISTED_MAX)
        return [
            Context(
                of.host,
                of.process,
                tuple(paths.get((digest, one.sensor_id), ())),
                hosts.get((digest, _group(of.host, of.process)), 0),
            )
            for one, of, digest in zip(found, contexts, hashes, strict=True)
        ]


def _suppressed(batch: _Batch, row: AlertRow) -> bool:
    """Returns whether a suppression applies to an alert, and counts it if so."""
    rule_id = batch.rules.rule_for(row)
    if rule_id is None:
        return False
    batch.rule_hits[rule_id] += 1
    batch.written.suppressed += 1
    return True


def _kind(batch: _Batch, first: Detection, known: Collection[str], hours: Hours) -> _Kind:
    """Determines the treatment of detections with one id, from the first of them."""
    if first.source not in batch.sources:
        return "silent"
    if first.id in known:
        return "known"
    return "new" if hours.admits(first) else "held back"


def _written(
    same: list[Detection], row: AlertRow, *, has_alert: bool, is_new: bool
) -> WrittenDetection:
    found = same[0]
    if len(same) > 1:
        found = msgspec.structs.replace(found, count=sum(one.count for one in same))
    return WrittenDetection(found, row, has_alert, is_new)


def _report_of(found: Detection) -> ReportKey | None:
    """Returns the feed report that a detection is a hit of, or None."""
    if found.source.kind != "feed" or not found.report_id:
        return None
    return int(found.source.id), found.report_id


def _hash_of(found: Detection, process: Mapping[str, Any]) -> str:
    """Returns the key in `binary` of the alert's file."""
    return str(
        found.md5
        or process.get("process_md5", "")
        or found.sha256
        or process.get("process_sha256", "")
    )


def _group(host: HostFacts | None, process: Mapping[str, Any]) -> str:
    return str(process.get("group", "")) or (host.group if host else "")


def _slices(found: Sequence[list[Detection]], size: int) -> Iterable[Sequence[list[Detection]]]:
    return (found[start : start + size] for start in range(0, len(found), size))
