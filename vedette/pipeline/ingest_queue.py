"""Queue of the write path: takes submissions and returns receipts once they are durable.

Three threads form a pipeline. `expect` announces each submission to the workers, so that decoding
begins at once; `prepare` collects queued submissions into a commit and processes it into rows;
`commit` writes the rows. One commit is written while the next is processed. The queue is bounded in
bytes, which is the backpressure on senders: a full queue refuses a submission with BusyError (429),
and the sender keeps its copy (ARCHITECTURE.md#the-write-path).

When the processing or the write of a commit fails, or a worker fails while the queue is idle, all
open commits fail, and submissions are refused with UnavailableError until recovery succeeds.
Recovery drops the state of the write path and reads back what failed commits did store.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

import structlog

from vedette.clock import Clock
from vedette.errors import BusyError, UnavailableError, VedetteError
from vedette.limits import INGEST_RECOVER_INTERVAL_S
from vedette.pipeline.batch.pack import PackedCommit
from vedette.pipeline.commit_numbers import CommitNumbers
from vedette.pipeline.ingest_rate import IngestRate
from vedette.pipeline.recent_refusal import RefusedRecords
from vedette.pipeline.submission import Receipt, Submission
from vedette.pipeline.workers.processor import CommitProcessor
from vedette.state.clock.guard import ClockGuard

log = structlog.get_logger(__name__)


class Intake(Protocol):
    """Takes submissions: the queue of this server, or all servers together."""

    async def submit(self, submission: Submission) -> Receipt: ...

    async def submit_in_order(
        self, submission: Submission, queued: Callable[[], None]
    ) -> Receipt: ...


class CommitWriter(Protocol):
    """Destination to which the queue writes commits."""

    def write(self, packed: PackedCommit) -> None:
        """Writes a commit; it is durable on return. Raises UnavailableError if the store cannot
        take it."""


class QueueMetrics(Protocol):
    """Metrics of the queue (`IngestMetrics`)."""

    def queued(self, byte_count: int) -> None: ...

    def committed(self, packed: PackedCommit, prepare_s: float, write_s: float) -> None: ...

    def failed(self) -> None: ...


class QueueLimits(Protocol):
    """Settings of the queue, in bytes and milliseconds."""

    @property
    def queue_bytes_max(self) -> int: ...

    @property
    def commit_bytes_max(self) -> int: ...

    @property
    def commit_wait_ms(self) -> int: ...


class _Waiting:
    """A submission, and the future that its sender waits for."""

    __slots__ = ("answer", "submission")

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.answer: Future[Receipt] = Future()
        # Running, so that a sender that disconnects cannot cancel it.
        self.answer.set_running_or_notify_cancel()


_Order = Callable[[], None]
"""A task for the commit thread between two commits, such as rolling a partition."""

_Item = _Waiting | _Order | None
"""None is the last item."""


def _wake() -> None:
    """A task without effect, to wake the commit thread."""


class IngestQueue:
    """The queue (see the module docstring). Thread-safe. `start` starts the threads."""

    def __init__(
        self,
        processor: CommitProcessor,
        ledger: CommitWriter,
        clock: Clock,
        limits: QueueLimits,
        meter: QueueMetrics,
        numbers: CommitNumbers,
        clock_guard: ClockGuard | None = None,
    ) -> None:
        self._processor = processor
        self._ledger = ledger
        self._clock = clock
        self._limits = limits
        self._meter = meter
        self._numbers = numbers
        self._clock_guard = clock_guard
        self.refused = RefusedRecords()
        self.rate = IngestRate(time.monotonic())
        self._inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._expected: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        """Items of the inbox that were announced to the processor."""
        self._outbox: queue.Queue[tuple[PackedCommit, list[_Waiting], float] | None] = queue.Queue(
            1
        )
        self._done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._bytes = 0
        self._inbox_lock = threading.Lock()
        """Held while putting into the inbox, so that nothing follows the None that closes it."""
        self._failed = threading.Event()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._expect_loop, name="expect", daemon=True),
            threading.Thread(target=self._prepare_loop, name="prepare", daemon=True),
            threading.Thread(target=self._commit_loop, name="commit", daemon=True),
        ]

    def start(self) -> None:
        self._processor.watch(self._fail)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Refuses new submissions, and returns once all accepted ones are answered."""
        with self._inbox_lock:
            self._closed = True
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()

    @property
    def available(self) -> bool:
        """Whether submissions are accepted and processed, for /readyz."""
        return not (self._closed or self._failed.is_set()) and self._processor.is_responding

    @property
    def waiting_bytes(self) -> int:
        """Bytes of submissions that are accepted and not yet stored."""
        return self._bytes

    async def submit(self, submission: Submission) -> Receipt:
        """Returns the receipt once every accepted record is stored and fsynced.

        Raises BusyError when the queue is full, UnavailableError when the commit fails or the clock
        is in doubt.
        """
        return await asyncio.wrap_future(self.enqueue(submission))

    async def submit_in_order(self, submission: Submission, queued: Callable[[], None]) -> Receipt:
        """Like `submit`, but calls `queued` as soon as the submission is queued, so that later
        submissions are stored after it."""
        answer = self.enqueue(submission)
        queued()
        return await asyncio.wrap_future(answer)

    def enqueue(self, submission: Submission) -> Future[Receipt]:
        """Like `submit`, for callers without an event loop."""
        if self._clock_guard is not None:
            self._clock_guard.check()
        waiting = _Waiting(submission)
        with self._inbox_lock:
            if self._failed.is_set():
                raise UnavailableError("the store is not accepting data")
            total = self._bytes + submission.byte_count
            if self._bytes and total > self._limits.queue_bytes_max:
                raise BusyError("the ingest queue is full")
            self._put(waiting)
            self._bytes = total
        self._meter.queued(total)
        return waiting.answer

    def _put(self, item: _Waiting | _Order) -> None:
        if self._closed:
            raise UnavailableError("the server is shutting down")
        self._inbox.put(item)

    @property
    def settled_seq(self) -> int:
        """The newest commit that has ended: the store will take no more rows with its number or a
        lower one. Raises UnavailableError if other servers must be queried and do not answer."""
        return self._numbers.settled

    def between_commits(self, order: _Order) -> None:
        """Runs `order` on the commit thread while no commit is open, and waits for it.

        Raises the errors of `order`, and UnavailableError after `close`.
        """
        done: Future[None] = Future()

        def run() -> None:
            try:
                order()
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                done.set_exception(error)
            else:
                done.set_result(None)

        with self._inbox_lock:
            self._put(run)
        done.result()

    def _expect_loop(self) -> None:
        item: _Item = _wake
        while item is not None:
            item = self._inbox.get()
            if isinstance(item, _Waiting) and not self._failed.is_set():
                try:
                    self._processor.expect(item.submission)
                except Exception:  # `prepare` reports the failure if it persists
                    log.exception("submission callback failed")
            self._expected.put(item)

    def _prepare_loop(self) -> None:
        held: _Item = None
        ends = False
        while not ends:
            first = held if held is not None else self._next()
            held = None
            if first is None:
                break
            if isinstance(first, _Waiting):
                group, held, ends = self._gather(first)
                self._prepare(group)
            else:
                self._outbox.join()
                self._mark_durable()
                first()
        self._outbox.put(None)

    def _next(self) -> _Item:
        """Returns the next item. After a failure, attempts to recover while there is none."""
        while True:
            try:
                return self._expected.get(
                    timeout=INGEST_RECOVER_INTERVAL_S if self._failed.is_set() else None
                )
            except queue.Empty:
                self._recover()

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], _Order | None, bool]:
        """Collects the submissions of one commit: those that arrive within `commit_wait_ms`, up to
        `commit_bytes_max`. Also returns the task that follows, and whether the queue was closed."""
        group = [first]
        room = self._limits.commit_bytes_max - first.submission.byte_count
        deadline = time.monotonic() + self._limits.commit_wait_ms / 1_000
        while room > 0:
            try:
                item = self._expected.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if item is None:
                return group, None, True
            if not isinstance(item, _Waiting):
                return group, item, False
            group.append(item)
            room -= item.submission.byte_count
        return group, None, False

    def _prepare(self, group: list[_Waiting]) -> None:
        if self._failed.is_set():
            self._answer(group, UnavailableError("the store is not accepting data"))
            return
        self._mark_durable()
        began = time.perf_counter()
        seq = 0
        try:
            seq = self._numbers.begin()
            submissions = [waiting.submission for waiting in group]
            packed = self._processor.prepare(submissions, seq, self._clock.now_us())
        except Exception as error:
            # State may be partly changed; recovery from the store is always correct.
            if not (isinstance(error, VedetteError) and not seq):
                log.exception("processing a commit failed")
            self._failed.set()
            if seq:
                self._numbers.ended(seq)
            self._answer(group, error)
            return
        self._outbox.put((packed, group, time.perf_counter() - began))

    def _mark_durable(self) -> None:
        while not self._done.empty():
            self._processor.durable(self._done.get())

    def _commit_loop(self) -> None:
        while (item := self._outbox.get()) is not None:
            packed, group, prepare_s = item
            began = time.perf_counter()
            is_sent = not self._failed.is_set()
            try:
                self._write(packed)
            except Exception as error:
                self._end(packed.seq, is_uncertain=is_sent)
                if not isinstance(error, VedetteError):
                    log.exception("writing a commit failed")
                self._failed.set()
                # The commit thread may be waiting for work, which is refused from now on.
                self._expected.put(_wake)
                self._meter.failed()
                self._answer(group, error)
            else:
                self._end(packed.seq, is_uncertain=False)
                self._done.put(packed.seq)
                self._meter.committed(packed, prepare_s, time.perf_counter() - began)
                self._return_receipts(packed, group)
            finally:
                self._outbox.task_done()

    def _end(self, seq: int, *, is_uncertain: bool) -> None:
        if is_uncertain:
            self._numbers.failed(seq)
        else:
            self._numbers.ended(seq)

    def _write(self, packed: PackedCommit) -> None:
        if self._failed.is_set():
            raise UnavailableError("an earlier commit failed")
        self._ledger.write(packed)

    def _fail(self) -> None:
        """Callback of the processor for failures that may occur while it is idle."""
        self._failed.set()
        self._expected.put(_wake)

    def _recover(self) -> None:
        """Recovers the processor's state from the store."""
        self._outbox.join()
        self._mark_durable()
        try:
            self._processor.recover(self._numbers.first_uncertain())
        except VedetteError as error:
            log.warning("ingest still unavailable", reason=str(error))
        except Exception:
            log.exception("recovery of ingest failed")
        else:
            self._numbers.recovered()
            self._failed.clear()

    def _return_receipts(self, packed: PackedCommit, group: list[_Waiting]) -> None:
        self._release(group)
        now_us, now_s = self._clock.now_us(), time.monotonic()
        for waiting, receipt in zip(group, packed.receipts, strict=True):
            submission = waiting.submission
            self.refused.note(submission, receipt, now_us)
            self.rate.note(len(submission.records), submission.byte_count, now_s)
            waiting.answer.set_result(receipt)

    def _answer(self, group: list[_Waiting], error: Exception) -> None:
        self._release(group)
        for waiting in group:
            waiting.answer.set_exception(error)

    def _release(self, group: list[_Waiting]) -> None:
        with self._inbox_lock:
            self._bytes -= sum(waiting.submission.byte_count for waiting in group)
            total = self._bytes
        self._meter.queued(total)
