"""Converts the decoded submissions of one commit to the rows to write.

A batch processor processes one commit at a time. It runs in a worker process
(`pipeline/workers/worker_main.py`) and owns all in-memory state of the write path for the hosts of
that worker: keys of stored records (`Deduplicator`), metadata of processes (`SegmentAssigner`),
context of hosts (`HostCache`).

`STAGES` lists the stages of a commit in order; each stage reads and extends the `Commit`. To
inspect all events of a host as they arrive, add a stage after `normalise`: there
`Commit.outcomes()` yields every normalized event, process fact and binary of the commit with its
sensor, before filters drop any and before folding merges them. `filter` is such a stage. Rules run
last, when the metadata of processes is available, on records as they arrived. A stage must not
raise because of a record's content: that would fail the commit for all senders.
"""

from collections.abc import Callable, Collection, Iterator
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct, field

from vedette.ingest.fold import Folded, check_times, fold
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.normaliser import Keep
from vedette.ingest.pseudonyms import Pseudonyms
from vedette.ingest.record import Record, RecordError
from vedette.limits import TIME_AHEAD_US
from vedette.model.event import BinarySeen, Kept, Outcome
from vedette.model.findings.detection import RuleHit
from vedette.model.host import SensorRef
from vedette.model.privacy import Privacy
from vedette.pipeline.batch.binary_sightings import SightingDeduplicator
from vedette.pipeline.batch.connection_pairs import ConnectionPairs
from vedette.pipeline.batch.decoded_batch import (
    ChannelCodes,
    DecodedBatch,
    HostResolver,
    internal_error,
)
from vedette.pipeline.batch.deduplicate import Deduplicator
from vedette.pipeline.batch.fingerprints import fingerprint
from vedette.pipeline.batch.host_cache import Host, HostCache
from vedette.pipeline.batch.ingest_filters import FilterVerdicts, IngestFilters
from vedette.pipeline.batch.rule_judge import OnHit, RuleJudge
from vedette.pipeline.batch.segment_assigner import AssignedRows, SegmentAssigner
from vedette.pipeline.batch.unstored import Unstored, note_unstored
from vedette.pipeline.receipt_outcomes import (
    DUPLICATE,
    EVENTS,
    FILTERED,
    NOT_KEPT,
    RECORD,
    REJECTED,
    note_hosts,
    note_outcomes,
)
from vedette.pipeline.submission import Receipt, Refusal
from vedette.pipeline.time_windows import TimeWindows
from vedette.pipeline.workers.ownership import HostOwnership
from vedette.pipeline.workers.progress import NoProgress, ProgressReporter

SEGMENT_TABLE: Final = "segment"
RECORD_TABLE: Final = "record"
"""Request keys are tracked per table, since each table is a separate insert."""


class Commit(Struct):
    """State of one commit between stages."""

    batches: list[DecodedBatch]
    seq: int
    now_us: int
    hosts: set[Host] = field(default_factory=set)
    """Set by `find_duplicates`."""
    verdicts: FilterVerdicts | None = None
    """Verdicts of the ingress filters; set by `filter`."""
    folded: Folded = field(default_factory=Folded)
    """Events by process, records and binaries; set by `fold`."""
    columns: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Maps sensor id to its `columns.HOST` values; set by `assign_segments`."""
    assigned: AssignedRows = field(default_factory=lambda: AssignedRows([], []))
    """Rows of segments; set by `assign_segments`."""
    hits: list[RuleHit] = field(default_factory=list)
    """Rule hits; set by `ask_rules`."""
    unstored: Unstored = field(default_factory=dict)
    """Keys of records that are not stored; set by `fold`."""

    def outcomes(self) -> Iterator[tuple[SensorRef, list[Outcome]]]:
        """Yields the normalized outcomes of each record that is not a duplicate, with its
        sensor."""
        for batch in self.batches:
            for host, result in zip(batch.hosts, batch.results, strict=True):
                if type(result) is list:
                    yield host.sensor, result


class ProcessedBatch(Struct):
    """Rows of one commit, and the receipts to return once the rows are durable."""

    seq: int
    now_us: int
    partition_ms: int
    assigned: AssignedRows
    folded: Folded
    hosts: dict[int, dict[str, Any]]
    """Maps sensor id to its `columns.HOST` values."""
    hits: list[RuleHit]
    unstored: Unstored
    receipts: list[Receipt]
    window_ms: int


class BatchProcessor:
    """Runs the stages of commits (see the module docstring)."""

    def __init__(
        self,
        hosts: HostCache,
        channels: ChannelCodes,
        registry: SegmentAssigner,
        seen: Deduplicator,
        windows: TimeWindows,
        keep: Keep,
        ownership: HostOwnership | None = None,
        progress: ProgressReporter | None = None,
    ) -> None:
        """`ownership` restricts the processor to the hosts of one worker; None accepts all
        hosts."""
        self.assigner = registry
        self.seen = seen
        self.windows = windows
        self.filters = IngestFilters(registry)
        self.rules = RuleJudge(registry)
        self._pseudonyms: dict[int, Pseudonyms] = {}
        self._hosts = hosts
        self._resolver = HostResolver(hosts, channels)
        self._ownership = ownership
        self._keep = keep
        self._binaries = SightingDeduplicator()
        self._connections = ConnectionPairs()
        self._progress = progress or NoProgress()

    def forget_slots(self, slots: Collection[int]) -> None:
        """Drops all state of hosts in these slots (`state/servers/slots.py`)."""
        gone = frozenset(slots)
        self.seen.forget_slots(gone)
        self._hosts.forget_slots(gone)
        self.assigner.forget_slots(gone)
        self._binaries.reset()
        self._connections.reset()
        if self._ownership is not None:
            self._ownership.forget_slots(gone)

    def use_privacy(self, privacy: Privacy) -> None:
        """Sets the privacy rules of each sensor group, from the next commit on."""
        self._pseudonyms = {
            group_id: Pseudonyms(privacy.key, one) for group_id, one in privacy.groups.items()
        }

    def reset(self) -> None:
        """Drops state that may describe rows that a failed commit did not store."""
        self.assigner.reset()
        self.seen.reset_pending()
        self._binaries.reset()
        self._connections.reset()
        self._hosts.reset_reported()

    def enter(self, window_ms: int, partition_ms: int) -> None:
        """Sets the current window and partition."""
        if window_ms != self.windows.window_ms:
            self._hosts.expire_names()
        self.windows.window_ms, self.windows.partition_ms = window_ms, partition_ms

    def expire_names(self) -> None:
        """Expires host names, so that each is resolved again at its next use."""
        self._hosts.expire_names()

    def prepare(self, batches: list[DecodedBatch], seq: int, now_us: int) -> ProcessedBatch:
        """Returns the rows of one commit. Its records stay pending until `seen.durable(seq)`.

        Raises ReshardError before any state has changed, and UnavailableError when a lookup fails.
        """
        commit = Commit(batches, seq, now_us)
        for stage in STAGES:
            stage(self, commit)
            self._progress.submission(0)
        receipts = [batch.receipt for batch in batches]
        for receipt in receipts:
            receipt.refusals.sort(key=attrgetter("position"))
        partition_ms = self.windows.partition_ms
        return ProcessedBatch(
            seq,
            now_us,
            partition_ms,
            commit.assigned,
            commit.folded,
            commit.columns,
            commit.hits,
            commit.unstored,
            receipts,
            self.windows.window_ms,
        )

    def try_rules(self, batches: list[DecodedBatch], seq: int, now_us: int, on_hit: OnHit) -> None:
        """Processes a commit that is not stored, and passes each single rule hit to `on_hit`.
        Raises the errors of `prepare`."""
        commit = Commit(batches, seq, now_us)
        for stage in STAGES:
            if stage is not BatchProcessor.ask_rules:
                stage(self, commit)
        self.rules.each_hit(batches, on_hit)

    def resolve_hosts(self, commit: Commit) -> None:
        """Finds host and key of every record; rejects records without a valid host."""
        self._hosts.evict()
        if self.windows.advance(commit.now_us):
            self._hosts.expire_names()
        for batch in commit.batches:
            self._resolver.resolve(batch, commit.now_us)

    def claim_hosts(self, commit: Commit) -> None:
        """Removes records of hosts that other workers own. Raises ReshardError."""
        if self._ownership is not None:
            self._ownership.resolve_claims(commit.batches)

    def pseudonymise(self, commit: Commit) -> None:
        """Pseudonymizes the values that the sensor groups of the hosts hide, before any stage reads
        them."""
        if not self._pseudonyms:
            return
        for batch in commit.batches:
            for record, host in zip(batch.records, batch.hosts, strict=True):
                pseudonyms = self._pseudonyms.get(host.sensor.group_id)
                if pseudonyms is not None:
                    pseudonyms.hide(record)

    def find_duplicates(self, commit: Commit) -> None:
        """Looks up, for each host, which of its records are already stored."""
        self.seen.begin(commit.seq, commit.now_us)
        commit.hosts = {host for batch in commit.batches for host in batch.hosts}
        for host in commit.hosts:
            host.keys = []
            host.taken = set()
            host.prints = set()
        for batch in commit.batches:
            for host, key in zip(batch.hosts, batch.keys, strict=True):
                host.keys.append(key)
        for host in commit.hosts:
            host.stored = self.seen.known_among(host.sensor.id, host.keys)

    def normalise(self, commit: Commit) -> None:
        """Learns context from all records, then normalizes the new ones to outcomes."""
        until_us = commit.now_us + TIME_AHEAD_US
        for group in _learning_groups(commit.batches):
            for batch in group:
                self._learn(batch)
            for batch in group:
                self._normalise(batch, until_us)
                # Before the next batch: a commit may contain the same request twice.
                for key in _seen_keys(batch):
                    self.seen.add_request(SEGMENT_TABLE, key)
                    self.seen.add_request(RECORD_TABLE, key)

    def pair_connections(self, commit: Commit) -> None:
        """Keeps one event of each connection that two logs report."""
        self._connections.merge(commit.batches)

    def filter(self, commit: Commit) -> None:
        """Applies the ingress filters to the processes of the commit."""
        commit.verdicts = self.filters.judge(commit.outcomes())

    def fold(self, commit: Commit) -> None:
        """Merges events by process, and writes the outcome of every record to its receipt."""
        for batch in commit.batches:
            outcomes = _fold(batch, commit.folded, commit.verdicts)
            note_unstored(commit.unstored, batch, outcomes)
        for host in commit.hosts:
            self.seen.add_records(host.sensor.id, host.taken)
            self.seen.add_fingerprints(host.sensor.id, host.prints)
        commit.folded.binaries = self._binaries.new(commit.folded.binaries)

    def assign_segments(self, commit: Commit) -> None:
        """Assigns the events of each process to a segment of the current window."""
        sensor_ids = {host.sensor.id for host in commit.hosts}
        for batch in commit.batches:
            if batch.peer_ip:
                for host in set(batch.hosts):
                    host.note_peer(batch.peer_ip)
        commit.columns = self._hosts.columns(sensor_ids, commit.now_us)
        commit.assigned = self.assigner.place(commit.folded.drafts, self.windows, commit.columns)

    def ask_rules(self, commit: Commit) -> None:
        """Evaluates the rules on every record that is new and that no filter dropped."""
        commit.hits = self.rules.judge(commit.batches)

    def _learn(self, batch: DecodedBatch) -> None:
        self._progress.submission(batch.number)
        report = self._progress.position
        for record, host, position in zip(batch.records, batch.hosts, batch.positions, strict=True):
            report(position)
            try:
                if record.host_clock:
                    host.context.host_clock = record.host_clock
                SOURCES[record.vedette_record].learn(record, host.context)
            except Exception as error:  # noqa: BLE001 - logged by internal_error
                # `normalise` will report the record; other records only lack its context.
                internal_error(error)

    def _normalise(self, batch: DecodedBatch, until_us: int) -> None:
        """Sets the result of each record: duplicate, rejected, not kept, or its outcomes."""
        results, keys = batch.results, batch.keys
        sent_before = {key: self._tables_with(key) for key in _seen_keys(batch)}
        alone = None if batch.parts else sent_before[batch.request_key]
        self._progress.submission(batch.number)
        report = self._progress.position
        for n, (record, host, position) in enumerate(
            zip(batch.records, batch.hosts, batch.positions, strict=True)
        ):
            report(position)
            key, print_, is_conflict = keys[n], 0, False
            if key:
                print_ = fingerprint(key, record)
                if key in host.taken or key in host.stored:
                    if not self._is_conflict(host, key, print_):
                        results.append(DUPLICATE)
                        continue
                    # Another record has this number: this record is identified by its request.
                    is_conflict, keys[n] = True, 0
            result = self._outcomes_of(record, host, until_us)
            if isinstance(result, list):
                if keys[n]:
                    host.taken.add(key)
                    if self.seen.has_half(host.sensor.id, key):
                        result = _without(result, RECORD_TABLE)
                elif tables := (
                    sent_before[batch.seen_key(host, position)] if alone is None else alone
                ):
                    host.reset_facts(result)
                    result = _without(result, *tables)
                if key:
                    host.prints.add(print_)
                batch.receipt.conflicts += is_conflict and bool(result)
            results.append(result or DUPLICATE)

    def _outcomes_of(
        self, record: Record, host: Host, until_us: int
    ) -> list[Outcome] | int | RecordError:
        """Returns the outcomes of a new record, NOT_KEPT, or the error for which it is rejected."""
        outcomes: list[Outcome] = []
        try:
            outcomes = SOURCES[record.vedette_record].normalise(record, host.context, self._keep)
            check_times(outcomes, until_us)
        except RecordError as error:
            host.reset_facts(outcomes)
            return error
        except Exception as error:  # noqa: BLE001 - logged by internal_error
            host.context.mark_unreported()
            return internal_error(error)
        return outcomes or NOT_KEPT

    def _is_conflict(self, host: Host, key: int, print_: int) -> bool:
        """Whether a record with other content already has this record's number."""
        if print_ in host.prints:
            return False
        return key in host.taken or self.seen.is_conflict(host.sensor.id, key, print_)

    def _tables_with(self, request_key: int) -> list[str]:
        """Returns the tables that already have rows of this request."""
        tables = (SEGMENT_TABLE, RECORD_TABLE)
        return [table for table in tables if self.seen.has_request(table, request_key)]


Stage = Callable[[BatchProcessor, Commit], None]

STAGES: Final[tuple[Stage, ...]] = (
    BatchProcessor.resolve_hosts,
    BatchProcessor.claim_hosts,
    BatchProcessor.pseudonymise,
    BatchProcessor.find_duplicates,
    BatchProcessor.normalise,
    BatchProcessor.pair_connections,
    BatchProcessor.filter,
    BatchProcessor.fold,
    BatchProcessor.assign_segments,
    BatchProcessor.ask_rules,
)
"""All stages of a commit, in order. Decoding comes before them (`decoded_batch.py`), packing of the
rows into tables after them (`pack.py`)."""


def _seen_keys(batch: DecodedBatch) -> Collection[int]:
    """Returns the keys that identify the records of a batch that have no number."""
    if not batch.parts:
        return (batch.request_key,)
    return {batch.seen_key(*one) for one in zip(batch.hosts, batch.positions, strict=True)}


def _learning_groups(batches: list[DecodedBatch]) -> Iterator[list[DecodedBatch]]:
    """Yields groups of batches; all batches of a group are learned from before any of them is
    normalized. A group is all batches that arrived together, or one part of an import."""
    yield [batch for batch in batches if not batch.in_sequence]
    for batch in batches:
        if batch.in_sequence:
            yield [batch]


def _fold(batch: DecodedBatch, folded: Folded, verdicts: FilterVerdicts | None) -> list[int]:
    """Folds the outcomes of one submission and completes its receipt. Returns the outcome
    numbers."""
    outcomes: list[int] = []
    request_key = batch.request_key
    parts = batch.parts
    for n, (host, key, position, result) in enumerate(
        zip(batch.hosts, batch.keys, batch.positions, batch.results, strict=True)
    ):
        if isinstance(result, list):
            kept = result
            if verdicts is not None:
                kept = verdicts.kept(result, batch.byte_counts[position])
                # No rule is evaluated on a record that filters drop.
                batch.results[n] = kept if kept or not result else FILTERED
            if parts:
                request_key = batch.stored_key(position)
            if fold(folded, kept, host.sensor.id, key, request_key):
                outcomes.append(EVENTS)
            else:
                outcomes.append(_outcome_without_events(result, kept))
        elif isinstance(result, RecordError):
            batch.receipt.refusals.append(Refusal(position, result.reason, result.message))
            outcomes.append(REJECTED)
        else:
            outcomes.append(result)
    note_outcomes(batch.receipt, batch.records, batch.positions, outcomes)
    if batch.in_sequence:
        names = [host.sensor.hostname for host in batch.hosts]
        note_hosts(batch.receipt, names, batch.records, outcomes)
    return outcomes


def _outcome_without_events(made: list[Outcome], kept: list[Outcome]) -> int:
    """Returns the outcome of a record that stores nothing with a process: FILTERED if filters
    dropped it, RECORD if it had no process data."""
    if len(kept) < len(made) and not any(type(one) is Kept for one in kept):
        return FILTERED
    return RECORD


def _without(outcomes: list[Outcome], *tables: str) -> list[Outcome]:
    """Returns the outcomes that are not stored in `tables`, which is the half that is still
    missing."""
    rest = [
        outcome
        for outcome in outcomes
        if (RECORD_TABLE if type(outcome) is Kept else SEGMENT_TABLE) not in tables
    ]
    return [] if all(type(outcome) is BinarySeen for outcome in rest) else rest
