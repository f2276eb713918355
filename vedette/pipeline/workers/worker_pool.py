"""Commit processing in worker processes, so that ingest, searches and the engine run on different
cores.

Processing is pure Python and holds the interpreter lock; in the server's process it would block the
event loop, searches and inserts. Workers have no store and no files: they receive records, return
tables, and send lookups to the server (`protocol.py`). Each worker owns a part of the hosts
(`host_sharding.py`). Submissions are delivered when they arrive, so that workers decode while they
would otherwise be idle.

A worker may end at any time (out of memory) or stall (stopped, or stuck on a record); the
supervisor detects both (`supervisor.py`). Then the open commit fails, its senders get a 503 and
keep their records, and `recover` replaces all workers, which read the durable state back from the
store. A record that stalls workers repeatedly is rejected (`stuck_records.py`). Workers end by
themselves when the server's process ends, however it ends.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import msgspec
import structlog

from vedette.clock import Clock
from vedette.errors import UnavailableError
from vedette.ingest.normalise.normaliser import Keep
from vedette.limits import WORKER_STALL_S, Limit
from vedette.model.ids import slot_of
from vedette.model.ingress_filter import FilterCounts
from vedette.model.privacy import Privacy
from vedette.pipeline.batch.pack import PackedCommit
from vedette.pipeline.submission import Submission
from vedette.pipeline.time_windows import TimeWindows
from vedette.pipeline.workers.host_sharding import HostSharding, ShardedCommit, ShardedSubmission
from vedette.pipeline.workers.key_transfer import KeyTransfer
from vedette.pipeline.workers.lookup_server import LookupServer
from vedette.pipeline.workers.protocol import (
    Begin,
    Deliver,
    Failed,
    ForgetSlots,
    ProcessCommit,
    Processed,
    Reset,
    Restore,
    WithoutPartitions,
)
from vedette.pipeline.workers.rule_delivery import RuleDelivery
from vedette.pipeline.workers.stuck_records import StuckRecords
from vedette.pipeline.workers.supervisor import WorkerSupervisor
from vedette.pipeline.workers.worker_handle import CommitRound, WorkerHandle
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.store.engine.arrow_arrays import unpacked
from vedette.store.write.commit import CommitTables
from vedette.store.write.concat_tables import joined_tables

WORKER_SILENT_S: Limit[float] = 10.0
"""Time without progress of a worker after which the server reports not ready."""


log = structlog.get_logger(__name__)


class Launcher(Protocol):
    """Starts and ends worker processes, wherever they run."""

    def launch(self, count: int) -> list[WorkerHandle]:
        """Returns new connected workers. Waits for the end of those launched before."""

    def kill(self) -> None:
        """Kills the launched workers, including stopped ones. Does not wait for their end."""


class WorkerPool:
    """`CommitProcessor` in `count` processes that `launcher` starts."""

    def __init__(
        self,
        launcher: Launcher,
        lookups: LookupServer,
        windows: TimeWindows,
        clock: Clock,
        keep: Keep,
        process_cache_size: int,
        count: int,
        stall_s: float = WORKER_STALL_S,
        *,
        shares_hosts: bool = False,
    ) -> None:
        """With `shares_hosts`, other servers have hosts too, and this server has only the hosts of
        the slots given to `take_slots`."""
        self.windows = windows
        self._launcher = launcher
        self._lookups = lookups
        self._clock = clock
        self._keep = keep
        self._process_cache_size = process_cache_size
        self._count = count
        self._workers: list[WorkerHandle] = []
        """Replaced as a whole, never modified; empty after a failure."""
        self._sharding = HostSharding(count)
        self._delivery = threading.Lock()
        """Held while submissions are delivered and while workers are replaced."""
        self._delivered: dict[int, ShardedSubmission] = {}
        """Submissions of later commits, by `id()` of the submission."""
        self._participants: dict[int, list[WorkerHandle]] = {}
        """Maps each commit that is not yet confirmed as durable to its workers."""
        self._unmounted: list[int] = []
        self._slots: frozenset[int] | None = frozenset() if shares_hosts else None
        """Slots of the hosts that this server has; None for all."""
        self._stuck = StuckRecords()
        self._supervisor = WorkerSupervisor(lambda: self._workers, self._replace_failed, stall_s)
        self._on_failure: Callable[[], None] = _ignore
        self._filter_lock = threading.Lock()
        self._filters: list[IngressFilter] = []
        self._filters_version = 0
        self._privacy = Privacy()
        self._privacy_version = 0
        self.rules = RuleDelivery()
        self._filtered = FilterCounts()

    @property
    def is_responding(self) -> bool:
        return all(worker.silent_s < WORKER_SILENT_S for worker in self._workers)

    def begin(self, unmounted: Iterable[int], *, is_empty: bool) -> None:
        """Starts the workers; call it first. `unmounted` lists the detached partitions; `is_empty`
        declares that nothing is stored, here or by other servers."""
        self._unmounted = list(unmounted)
        self._start(is_empty=is_empty)

    def watch(self, on_failure: Callable[[], None]) -> None:
        self._on_failure = on_failure
        self._supervisor.start()

    def expect(self, submission: Submission) -> None:
        with self._delivery:
            if self._workers and id(submission) not in self._delivered:
                self._delivered[id(submission)] = self._deliver(submission)

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> PackedCommit:
        if not self._workers:
            raise UnavailableError("no worker is processing commits")
        self.windows.advance(now_us)
        commit = ShardedCommit(self._take(submissions), self._sharding, self._is_ours)
        results = self._process(commit, seq, now_us)
        if results is None:  # wrong estimate of a host; its owner is set now
            results = self._process(commit, seq, now_us)
            assert results is not None
        for result in results.values():
            self._note(result, now_us)
        receipts = commit.receipts({number: one.receipts for number, one in results.items()})
        tables = joined_tables([_tables(one) for one in results.values()])
        return PackedCommit(seq, tables, receipts)

    def durable(self, seq: int) -> None:
        for worker in self._participants.pop(seq, ()):
            worker.durable.append(seq)

    def recover(self, since_seq: int | None) -> None:
        self._participants.clear()
        if not self._workers or not all(worker.is_connected for worker in self._workers):
            self._close_workers()
            self._start(is_empty=False)
            return
        with self._delivery:
            self._delivered.clear()
            for worker in self._workers:
                worker.send(Reset(worker.take_durable()))
        if since_seq is not None:
            self._restore_seen(since_seq)

    def take_slots(self, taken: Collection[int]) -> None:
        """Accepts records of hosts in these slots from now on, with their keys restored from the
        store. Raises UnavailableError; then nothing has changed."""
        self._forget_slots(taken)
        self._restore_seen(0, taken)
        self._slots = (self._slots or frozenset()) | frozenset(taken)

    def drop_slots(self, dropped: Collection[int]) -> None:
        """Stops accepting records of hosts in these slots."""
        self._slots = (self._slots or frozenset()) - frozenset(dropped)
        self._forget_slots(dropped)

    def _forget_slots(self, slots: Collection[int]) -> None:
        self._sharding.forget_slots(slots)
        for worker in self._workers:
            worker.send(ForgetSlots(sorted(slots), worker.take_durable()))

    def _is_ours(self, sensor_id: int) -> bool:
        return self._slots is None or slot_of(sensor_id) in self._slots

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        self._unmounted = list(unmounted)
        self._send_all(WithoutPartitions(self._unmounted))

    def use_filters(self, filters: Sequence[IngressFilter]) -> None:
        with self._filter_lock:
            self._filters = list(filters)
            self._filters_version += 1

    def use_privacy(self, privacy: Privacy) -> None:
        with self._filter_lock:
            self._privacy = privacy
            self._privacy_version += 1

    def filter_counts(self) -> FilterCounts:
        with self._filter_lock:
            counts, self._filtered = self._filtered, FilterCounts()
        return counts

    def close(self) -> None:
        """Stops supervision and the workers. Does not raise if some have already ended."""
        self._supervisor.close()
        self._close_workers()

    def _close_workers(self) -> None:
        with self._delivery:
            for worker in self._workers:
                worker.close()
            self._workers = []
            self._delivered.clear()

    def _start(self, *, is_empty: bool) -> None:
        """Launches workers and restores the keys of all stored records."""
        now_us = self._clock.now_us()
        begin = Begin(
            self._keep,
            self._process_cache_size,
            now_us,
            is_empty,
            self._count,
            self._slots is not None,
        )
        workers = self._launcher.launch(self._count)
        with self._delivery:
            self._workers = workers
            self._sharding = HostSharding(self._count)
            self._send_all(begin)
        self._send_all(WithoutPartitions(self._unmounted))
        self._restore_seen(0)

    def _replace_failed(self, workers: Sequence[WorkerHandle], stalled: list[int]) -> None:
        """Callback of the supervisor: disconnects all workers if one has ended or stalled, so that
        the open commit fails. `recover` replaces them."""
        with self._delivery:
            if workers is not self._workers:
                return  # another thread has noticed, and replaced them
            if stalled:
                self._launcher.kill()  # a stopped process does not notice a closed channel
                for number in stalled:
                    self._suspect_record(number)
            for worker in workers:
                worker.shut()
        log.error("a worker failed; replacing all workers", stalled=len(stalled))
        self._on_failure()

    def _suspect_record(self, number: int) -> None:
        """Counts a stall at the record that a worker was processing, if any."""
        progress = self._workers[number].progress.read()
        sharded = self._sharding.find(progress.submission)
        if sharded is None:
            return
        position = sharded.position(number, progress.position)
        if position is None:
            return
        is_rejected = self._stuck.add_stall(sharded.submission.records[position])
        log.error("a worker stalled on a record", position=position, rejected=is_rejected)

    def _take(self, submissions: list[Submission]) -> list[ShardedSubmission]:
        """Returns all submissions, delivering those that are not delivered yet."""
        with self._delivery:
            taken = [self._delivered.pop(id(submission), None) for submission in submissions]
            return [
                self._deliver(submission) if sharded is None else sharded
                for submission, sharded in zip(submissions, taken, strict=True)
            ]

    def _deliver(self, submission: Submission) -> ShardedSubmission:
        stuck = self._stuck.positions(submission.records)
        sharded = self._sharding.distribute(submission, stuck)
        for number in sharded.portions:
            self._workers[number].send(Deliver(sharded.number, sharded.portion(number)))
        return sharded

    def _restore_seen(self, since_seq: int, slots: Collection[int] | None = None) -> None:
        """Sends every worker the keys of all hosts of this server, or of those in `slots`: the
        owner of a host is decided only when it appears."""
        transfer = KeyTransfer(self._send_and_flush)
        wanted = self._slots if slots is None else slots
        if wanted is None or wanted:
            self._lookups.stored.restore_seen(transfer, since_seq, wanted)
        transfer.flush()

    def _process(self, commit: ShardedCommit, seq: int, now_us: int) -> dict[int, Processed] | None:
        """Returns each worker's result; None if the commit must be distributed again."""
        workers = {number: self._workers[number] for number in commit.processes}
        for number, worker in workers.items():
            order = self._order(worker, seq, now_us)
            portions, order.granted = commit.portions(number), commit.granted(number)
            numbers = [one.number for one in portions]
            if order.granted is None:
                order.delivered = numbers
            else:
                order.numbers = numbers
                order.submissions = [one.portion(number) for one in portions]
            worker.send(order)
        try:
            made = CommitRound(workers, self._lookups.answer, commit.resolve_claims).run()
        except ConnectionError as error:
            raise self._lost() from error
        except Exception:
            self._close_workers()  # the state of their lookups is unknown
            raise
        if isinstance(made, Failed):
            raise _error_of(made)
        if made is not None:
            self._participants[seq] = list(workers.values())
        return made

    def _order(self, worker: WorkerHandle, seq: int, now_us: int) -> ProcessCommit:
        with self._filter_lock:
            is_stale = worker.filters_version != self._filters_version
            worker.filters_version = self._filters_version
            filters = self._filters if is_stale else None
            is_stale = worker.privacy_version != self._privacy_version
            worker.privacy_version = self._privacy_version
            privacy = self._privacy if is_stale else None
        window_ms, partition_ms = self.windows.window_ms, self.windows.partition_ms
        names_version = self._lookups.sensors.names_version
        expire_names = worker.names_version != names_version
        worker.names_version = names_version
        worker.rules_version, rules = self.rules.missing(worker.rules_version, seq)
        durable = worker.take_durable()
        return ProcessCommit(
            seq, now_us, window_ms, partition_ms, durable, expire_names, filters, rules, privacy
        )

    def _note(self, result: Processed, now_us: int) -> None:
        for sensor_id, address, host_type, sid, adapters in result.seen:
            self._lookups.sensors.note(
                sensor_id,
                now_us,
                interface_ip=address,
                host_type=host_type,
                computer_sid=sid,
                adapters=adapters,
            )
        self.rules.add_costs(result.costs)
        self.rules.add_arrived(result.arrived)
        with self._filter_lock:
            self._filtered.add(result.filtered)

    def _send_all(self, message: msgspec.Struct) -> None:
        for worker in self._workers:
            worker.send(message)

    def _send_and_flush(self, message: Restore) -> None:
        """Sends a message to all workers and waits until it is sent. Raises UnavailableError."""
        self._send_all(message)
        try:
            for worker in self._workers:
                worker.flush()
        except ConnectionError as error:
            raise self._lost() from error

    def _lost(self) -> UnavailableError:
        log.error("a worker exited; replacing all workers")
        self._close_workers()
        return UnavailableError("a process that prepares commits has ended")


def _ignore() -> None:
    """Handler for failures before `watch` is called."""


def _error_of(failed: Failed) -> Exception:
    if failed.reason:
        return UnavailableError(failed.message, reason=failed.reason)
    return RuntimeError(failed.message)


def _tables(result: Processed) -> CommitTables:
    small_tables = [(name, unpacked(rows)) for name, rows in result.small_tables]
    return CommitTables(small_tables, list(map(unpacked, result.segments)))
