"""Interface of commit processing to the rest of the write path.

A server processes commits in worker processes (`worker_pool.py`), because processing is most of the
cost of ingest and holds the interpreter lock. `LocalProcessor` does the same in this process; tests
of the write path use it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from vedette.detect.judged_rule import decoded_rules
from vedette.ingest.filter import compile_filters
from vedette.model.ingress_filter import FilterCounts
from vedette.model.privacy import Privacy
from vedette.pipeline.batch.batch_processor import BatchProcessor
from vedette.pipeline.batch.decoded_batch import decode_submission
from vedette.pipeline.batch.pack import PackedCommit, pack
from vedette.pipeline.submission import Submission
from vedette.pipeline.time_windows import TimeWindows
from vedette.pipeline.workers.rule_delivery import RuleDelivery
from vedette.record.objects.ingress_filter import IngressFilter


class StoredKeys(Protocol):
    """Receives the keys of stored records (`Deduplicator`)."""

    def restore_records(self, sensor_id: int, keys: Iterable[int]) -> None: ...

    def restore_kept(self, sensor_id: int, keys: Iterable[int]) -> None: ...

    def restore_requests(self, table: str, keys: Iterable[int]) -> None: ...


class KeyRecovery(Protocol):
    """Reads the keys of stored records from the store (`StoreLookup`)."""

    def restore_seen(
        self, keys: StoredKeys, since_seq: int, slots: Collection[int] | None = None
    ) -> None:
        """Passes to `keys` the keys that commits from `since_seq` on stored, even in part. `slots`
        restricts them to hosts in these slots (`state/servers/slots.py`)."""


class CommitProcessor(Protocol):
    """Converts submissions to commits. Methods belong to the commit thread of the ingest queue,
    except `expect`, `is_responding` and the filters, which are thread-safe."""

    @property
    def windows(self) -> TimeWindows:
        """Time window and partition of the next commit."""

    @property
    def is_responding(self) -> bool:
        """False while a worker makes no progress, before it is replaced."""

    @property
    def rules(self) -> RuleDelivery:
        """The detection rules of commits that begin later."""

    def watch(self, on_failure: Callable[[], None]) -> None:
        """Starts supervision. Calls `on_failure` on another thread when processing fails while no
        commit may be open; the caller must then call `recover`."""

    def expect(self, submission: Submission) -> None:
        """Announces a submission of a later commit, so that decoding can begin. Call it from one
        thread at a time. Never raises."""

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> PackedCommit:
        """Returns the tables of one commit; its submissions need not have been announced. Raises
        UnavailableError when workers or lookups fail. Call `recover` after any error."""

    def durable(self, seq: int) -> None:
        """Marks commit `seq` as stored: its records are duplicates from now on."""

    def recover(self, since_seq: int | None) -> None:
        """Drops state that may describe rows that were not stored, and reads back the keys that
        commits from `since_seq` on stored. None if no commit can have stored rows without the
        server's knowledge. Raises UnavailableError."""

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        """Sets the detached partitions: their segments get no late metadata."""

    def use_filters(self, filters: Sequence[IngressFilter]) -> None:
        """Sets the ingress filters of commits that begin later."""

    def use_privacy(self, privacy: Privacy) -> None:
        """Sets the privacy settings of sensor groups for commits that begin later."""

    def filter_counts(self) -> FilterCounts:
        """Returns the counts of the ingress filters since the last call."""


class LocalProcessor:
    """`CommitProcessor` with a batch processor in this process."""

    def __init__(self, batch_processor: BatchProcessor, recovery: KeyRecovery) -> None:
        self.batch_processor = batch_processor
        self._recovery = recovery
        self._rules = RuleDelivery()
        self._rules_version = 0

    @property
    def windows(self) -> TimeWindows:
        return self.batch_processor.windows

    @property
    def is_responding(self) -> bool:
        return True

    @property
    def rules(self) -> RuleDelivery:
        return self._rules

    def watch(self, on_failure: Callable[[], None]) -> None:
        """Does nothing: there is no other process that could fail."""

    def expect(self, submission: Submission) -> None:
        """Does nothing: decoding ahead would not save this process any work."""

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> PackedCommit:
        judge = self.batch_processor.rules
        self._rules_version, rules = self._rules.missing(self._rules_version, seq)
        if rules is not None:
            judge.use(rules.generation, decoded_rules(rules.encoded))
        batches = list(map(decode_submission, submissions))
        packed = pack(self.batch_processor.prepare(batches, seq, now_us))
        self._rules.add_costs(judge.take_costs())
        self._rules.add_arrived(judge.take_arrived())
        return packed

    def durable(self, seq: int) -> None:
        self.batch_processor.seen.durable(seq)

    def recover(self, since_seq: int | None) -> None:
        self.batch_processor.reset()
        if since_seq is not None:
            self._recovery.restore_seen(self.batch_processor.seen, since_seq)

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        self.batch_processor.assigner.without_partitions(unmounted)

    def use_filters(self, filters: Sequence[IngressFilter]) -> None:
        self.batch_processor.filters.use(compile_filters(filters))

    def use_privacy(self, privacy: Privacy) -> None:
        self.batch_processor.use_privacy(privacy)

    def filter_counts(self) -> FilterCounts:
        return self.batch_processor.filters.take_counts()
