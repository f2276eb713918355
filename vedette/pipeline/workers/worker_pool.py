"""Preparing commits in processes of their own, so that they and everything else have a core each.

Preparing is pure Python and holds the interpreter; the event loop, searches and the engine's
inserts would wait for it. The processes have no store and no files: they get bodies, give tables,
and ask this one what they have to know (`protocol.py`). Each has a share of the hosts
(`host_sharding.py`), and gets its texts as they come, so that it decodes while nothing else is to
be done.

One may die at any time, of memory for one. Then the commit fails, its senders keep what they
sent, and the next `begin_anew` starts others in place of all, which read back what is stored. They
end by themselves when this process does, however that ends.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import structlog

from vedette.clock import Clock
from vedette.errors import UnavailableError
from vedette.ingest.normalise.normaliser import Keep
from vedette.model.ingress_filter import IngressFilter
from vedette.pipeline.batch.pack import PackedCommit
from vedette.pipeline.submission import Submission
from vedette.pipeline.time_windows import TimeWindows
from vedette.pipeline.workers.host_sharding import HostSharding, ShardedCommit, ShardedSubmission
from vedette.pipeline.workers.lookup_server import LookupServer
from vedette.pipeline.workers.protocol import (
    Begin,
    Deliver,
    Failed,
    Forget,
    Prepare,
    Processed,
    Restore,
    WithoutPartitions,
)
from vedette.pipeline.workers.worker_handle import CommitRound, WorkerChannel, WorkerHandle
from vedette.store.engine.arrow_arrays import unpacked
from vedette.store.write.commit import CommitTables
from vedette.store.write.concat_tables import joined_tables

log = structlog.get_logger(__name__)

RESTORED_KEYS = 100_000
"""Keys of stored records in one message."""


LaunchWorkers = Callable[[int], list[WorkerChannel]]
"""Starts so many processes."""


class WorkerPool:
    """`Preparation` by `processes` other processes, which `launch` starts."""

    def __init__(
        self,
        launch: LaunchWorkers,
        knowledge: LookupServer,
        windows: TimeWindows,
        clock: Clock,
        keep: Keep,
        processes_remembered: int,
        processes: int,
    ) -> None:
        self.windows = windows
        self._launch = launch
        self._knowledge = knowledge
        self._clock = clock
        self._keep = keep
        self._processes_remembered = processes_remembered
        self._count = processes
        self._workers: list[WorkerHandle] = []
        """None of them where they have ended."""
        self._shares = HostSharding(processes)
        self._expecting = threading.Lock()
        """Held to send ahead, and to change to whom."""
        self._expected: dict[int, ShardedSubmission] = {}
        """What was sent ahead of its commit, by the identity of the submission."""
        self._took_part: dict[int, list[WorkerHandle]] = {}
        """By commit that is not known to be stored."""
        self._unmounted: list[int] = []
        self._lock = threading.Lock()
        """Held to change what filters are and counted."""
        self._filters: list[IngressFilter] = []
        self._filters_version = 0
        self._looked_at = 0
        self._hits: dict[str, int] = {}

    def begin(self, unmounted: Iterable[int], *, is_empty: bool) -> None:
        """Starts the processes with what the store holds; before anything else."""
        self._unmounted = list(unmounted)
        self._start(is_empty=is_empty)

    def expect(self, submission: Submission) -> None:
        with self._expecting:
            if self._workers and id(submission) not in self._expected:
                self._expected[id(submission)] = self._send_ahead(submission)

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> PackedCommit:
        if not self._workers:
            raise UnavailableError("nothing prepares commits at the moment")
        self.windows.advance(now_us)
        commit = ShardedCommit(self._take(submissions), self._shares)
        done = self._by_all(commit, seq, now_us)
        if done is None:  # what they met has shown whose it is
            done = self._by_all(commit, seq, now_us)
            assert done is not None
        for one in done.values():
            self._note(one, now_us)
        receipts = commit.receipts({process: one.receipts for process, one in done.items()})
        return PackedCommit(seq, joined_tables([_tables(one) for one in done.values()]), receipts)

    def durable(self, seq: int) -> None:
        for worker in self._took_part.pop(seq, ()):
            worker.durable.append(seq)

    def begin_anew(self, since_seq: int) -> None:
        self._took_part.clear()
        if not self._workers:
            self._start(is_empty=False)
            return
        with self._expecting:
            self._expected.clear()
            for worker in self._workers:
                worker.tell(Forget(worker.durable_since()))
        self._restore_seen(since_seq)

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        self._unmounted = list(unmounted)
        self._tell_all(WithoutPartitions(self._unmounted))

    def use_filters(self, filters: Sequence[IngressFilter]) -> None:
        with self._lock:
            self._filters = list(filters)
            self._filters_version += 1

    def filter_counts(self) -> tuple[int, dict[str, int]]:
        with self._lock:
            counted = self._looked_at, self._hits
            self._looked_at, self._hits = 0, {}
        return counted

    def close(self) -> None:
        """Ends the processes. Raises nothing when some have ended already."""
        with self._expecting:
            for worker in self._workers:
                worker.close()
            self._workers = []
            self._expected.clear()

    def _start(self, *, is_empty: bool) -> None:
        """New processes that know what is stored: all that was durable is read back."""
        now_us = self._clock.now_us()
        begin = Begin(self._keep, self._processes_remembered, now_us, is_empty, self._count)
        links = self._launch(self._count)
        with self._expecting:
            self._workers = list(map(WorkerHandle, links))
            self._shares = HostSharding(self._count)
            self._tell_all(begin)
        self._tell_all(WithoutPartitions(self._unmounted))
        self._restore_seen(0)

    def _take(self, submissions: list[Submission]) -> list[ShardedSubmission]:
        """All of them sent ahead, by now those too that nobody expected."""
        with self._expecting:
            taken = [self._expected.pop(id(submission), None) for submission in submissions]
            return [
                self._send_ahead(submission) if sent is None else sent
                for submission, sent in zip(submissions, taken, strict=True)
            ]

    def _send_ahead(self, submission: Submission) -> ShardedSubmission:
        shared = self._shares.share(submission)
        for process in shared.portions:
            self._workers[process].tell(Deliver(shared.number, shared.some(process)))
        return shared

    def _restore_seen(self, since_seq: int) -> None:
        """All are told of all: which hosts are whose shows when they are met."""
        keys = _Restoring(self._send_all)
        self._knowledge.stored.restore_seen(keys, since_seq)
        keys.flush()

    def _by_all(self, commit: ShardedCommit, seq: int, now_us: int) -> dict[int, Processed] | None:
        """What each process made of its portion; None where it has to be shared out again."""
        taking_part = {process: self._workers[process] for process in commit.processes}
        for process, worker in taking_part.items():
            order = self._order(worker, seq, now_us)
            portions, order.mine = commit.portions(process), commit.mine(process)
            if order.mine is None:
                order.ahead = [one.number for one in portions]
            else:
                order.submissions = [one.some(process) for one in portions]
            worker.tell(order)
        try:
            made = CommitRound(taking_part, self._knowledge.answer, commit.settle).run()
        except ConnectionError as error:
            raise self._lost() from error
        except Exception:
            self.close()  # nobody knows what they wait for
            raise
        if isinstance(made, Failed):
            raise _error_of(made)
        if made is not None:
            self._took_part[seq] = list(taking_part.values())
        return made

    def _order(self, worker: WorkerHandle, seq: int, now_us: int) -> Prepare:
        with self._lock:
            changed = worker.filters_version != self._filters_version
            worker.filters_version = self._filters_version
            filters = self._filters if changed else None
        window_ms, partition_ms = self.windows.window_ms, self.windows.partition_ms
        return Prepare(seq, now_us, window_ms, partition_ms, worker.durable_since(), filters)

    def _note(self, done: Processed, now_us: int) -> None:
        for sensor_id, address, host_type in done.seen:
            self._knowledge.sensors.note(
                sensor_id, now_us, interface_ip=address, host_type=host_type
            )
        with self._lock:
            self._looked_at += done.looked_at
            for name, count in done.hits.items():
                self._hits[name] = self._hits.get(name, 0) + count

    def _tell_all(self, message: msgspec.Struct) -> None:
        for worker in self._workers:
            worker.tell(message)

    def _send_all(self, message: msgspec.Struct) -> None:
        """Returns when all have it. Raises UnavailableError."""
        self._tell_all(message)
        try:
            for worker in self._workers:
                worker.wait()
        except ConnectionError as error:
            raise self._lost() from error

    def _lost(self) -> UnavailableError:
        log.error("a process that prepares commits has ended; others are started")
        self.close()
        return UnavailableError("a process that prepares commits has ended")


def _error_of(failed: Failed) -> Exception:
    if failed.reason:
        return UnavailableError(failed.message, reason=failed.reason)
    return RuntimeError(failed.message)


def _tables(done: Processed) -> CommitTables:
    aside = [(name, unpacked(rows)) for name, rows in done.aside]
    return CommitTables(aside, list(map(unpacked, done.segments)))


class _Restoring:
    """`SeenKeys` that sends them on, many in one message."""

    def __init__(self, send: Callable[[Restore], None]) -> None:
        self._send = send
        self._restore = Restore([], [], [])
        self._count = 0

    def restore_records(self, sensor_id: int, keys: Iterable[int]) -> None:
        self._add(self._restore.records, sensor_id, keys)

    def restore_kept(self, sensor_id: int, keys: Iterable[int]) -> None:
        self._add(self._restore.kept, sensor_id, keys)

    def restore_requests(self, table: str, keys: Iterable[int]) -> None:
        self._add(self._restore.requests, table, keys)

    def flush(self) -> None:
        if self._count:
            self._send(self._restore)
            self._restore = Restore([], [], [])
            self._count = 0

    def _add(self, rows: list[Any], of: int | str, keys: Iterable[int]) -> None:
        told = list(keys)
        if told:
            rows.append((of, told))
            self._count += len(told)
        if self._count >= RESTORED_KEYS:
            self.flush()
