"""The door of the write path: takes submissions, answers once they are durable.

Three threads stand behind it. *Expect* tells the preparation what has come, which may begin with
it; *prepare* gathers what waits into one commit and turns it into rows; *commit* writes them.
While one commit is written the next is prepared, so all cores work. The queue is bounded in
bytes: above it a submission is refused with BusyError, and the sender keeps its copy
(design.md 4).

When a commit fails, everything prepared on top of it fails too, the memory of the write path
is dropped, and submissions are refused with UnavailableError until the store answers again
and what the failed commits did store has been read back.
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
from vedette.pipeline.batch.pack import Packed
from vedette.pipeline.submission import Receipt, Submission
from vedette.pipeline.workers.processor import Preparation
from vedette.state.clock.guard import ClockGuard

log = structlog.get_logger(__name__)

RECOVER_PAUSE_S = 1.0
"""Between two tries to reach a store that refused a commit."""


class Ledger(Protocol):
    """Where commits are written."""

    def write(self, packed: Packed) -> None:
        """Durable when it returns. Raises UnavailableError when the store cannot take it."""


class Meter(Protocol):
    """What the intake reports of itself."""

    def queued(self, byte_count: int) -> None: ...

    def committed(self, packed: Packed, prepare_s: float, write_s: float) -> None: ...

    def failed(self) -> None: ...


class IntakeLimits(Protocol):
    """Settings of the intake: bytes and milliseconds."""

    @property
    def queue_bytes_max(self) -> int: ...

    @property
    def commit_bytes_max(self) -> int: ...

    @property
    def commit_wait_ms(self) -> int: ...


class _Waiting:
    """A submission, and the future its sender waits for."""

    __slots__ = ("answer", "submission")

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.answer: Future[Receipt] = Future()
        # A sender that goes away must not take back what is being written.
        self.answer.set_running_or_notify_cancel()


_Order = Callable[[], None]
"""Work for the preparing thread between two commits (rolling a partition)."""

_Item = _Waiting | _Order | None
"""None comes last."""


def _wake() -> None:
    """The order that does nothing."""


class Intake:
    """See the module. `start` begins the threads, `close` finishes what was accepted."""

    def __init__(
        self,
        preparation: Preparation,
        ledger: Ledger,
        clock: Clock,
        limits: IntakeLimits,
        meter: Meter,
        first_seq: int,
        clock_guard: ClockGuard | None = None,
    ) -> None:
        self._preparation = preparation
        self._ledger = ledger
        self._clock = clock
        self._limits = limits
        self._meter = meter
        self._seq = first_seq
        self._clock_guard = clock_guard
        self._inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._expected: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        """The same, once the preparation expects it."""
        self._outbox: queue.Queue[tuple[Packed, list[_Waiting], float] | None] = queue.Queue(1)
        self._done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._bytes = 0
        self._door = threading.Lock()
        """Held to put into the inbox: nothing comes in behind the mark that closes it."""
        self._failed = threading.Event()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._expect_loop, name="expect", daemon=True),
            threading.Thread(target=self._prepare_loop, name="prepare", daemon=True),
            threading.Thread(target=self._commit_loop, name="commit", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Refuses what comes from now on; commits and answers what was accepted."""
        with self._door:
            self._closed = True
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()

    @property
    def available(self) -> bool:
        """Whether a submission would be taken now, for /readyz."""
        return not (self._closed or self._failed.is_set())

    async def submit(self, submission: Submission) -> Receipt:
        """Returns when every accepted record is stored and fsynced.

        Raises BusyError when the queue is full, UnavailableError when the store is down or the
        clock is in doubt.
        """
        return await asyncio.wrap_future(self.enqueue(submission))

    def enqueue(self, submission: Submission) -> Future[Receipt]:
        """`submit` for callers without an event loop."""
        if self._clock_guard is not None:
            self._clock_guard.check()
        waiting = _Waiting(submission)
        with self._door:
            if self._failed.is_set():
                raise UnavailableError("the store does not take data at the moment")
            total = self._bytes + submission.byte_count
            if self._bytes and total > self._limits.queue_bytes_max:
                raise BusyError("more data is waiting than the queue may hold")
            self._put(waiting)
            self._bytes = total
        self._meter.queued(total)
        return waiting.answer

    def _put(self, item: _Waiting | _Order) -> None:
        if self._closed:
            raise UnavailableError("the server is shutting down")
        self._inbox.put(item)

    def between_commits(self, order: _Order) -> None:
        """Runs `order` on the preparing thread, with no commit under way, and waits for it.

        Raises what the order raises, UnavailableError after `close`.
        """
        done: Future[None] = Future()

        def run() -> None:
            try:
                order()
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                done.set_exception(error)
            else:
                done.set_result(None)

        with self._door:
            self._put(run)
        done.result()

    def _expect_loop(self) -> None:
        item: _Item = _wake
        while item is not None:
            item = self._inbox.get()
            if isinstance(item, _Waiting) and not self._failed.is_set():
                try:
                    self._preparation.expect(item.submission)
                except Exception:  # prepare does without, and refuses it where it cannot
                    log.exception("a submission could not be begun with")
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
                first()
        self._outbox.put(None)

    def _next(self) -> _Item:
        """What comes next; tries to reach a store that failed as long as nothing does."""
        while True:
            try:
                return self._expected.get(
                    timeout=RECOVER_PAUSE_S if self._failed.is_set() else None
                )
            except queue.Empty:
                self._recover()

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], _Order | None, bool]:
        """The submissions of one commit: what comes in the time to wait, up to its bytes."""
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
            self._answer(group, UnavailableError("the store does not take data at the moment"))
            return
        self._take_note()
        began = time.perf_counter()
        try:
            submissions = [waiting.submission for waiting in group]
            packed = self._preparation.prepare(submissions, self._seq, self._clock.now_us())
        except Exception as error:
            # Memory may be half changed; beginning anew from the store is always right.
            log.exception("preparing a commit failed")
            self._failed.set()
            self._answer(group, error)
            return
        self._seq += 1
        self._outbox.put((packed, group, time.perf_counter() - began))

    def _take_note(self) -> None:
        while not self._done.empty():
            self._preparation.durable(self._done.get())

    def _commit_loop(self) -> None:
        while (item := self._outbox.get()) is not None:
            packed, group, prepare_s = item
            began = time.perf_counter()
            try:
                self._write(packed)
            except Exception as error:
                if not isinstance(error, VedetteError):
                    log.exception("writing a commit failed")
                self._failed.set()
                # The other thread may wait for work that nobody can hand in any more.
                self._expected.put(_wake)
                self._meter.failed()
                self._answer(group, error)
            else:
                self._done.put(packed.seq)
                self._meter.committed(packed, prepare_s, time.perf_counter() - began)
                self._hand_out(packed, group)
            finally:
                self._outbox.task_done()

    def _write(self, packed: Packed) -> None:
        if self._failed.is_set():
            raise UnavailableError("an earlier commit failed")
        self._ledger.write(packed)

    def _recover(self) -> None:
        """Begins anew from what the store holds."""
        self._outbox.join()
        self._take_note()
        try:
            self._preparation.begin_anew(self._first_unsure())
        except VedetteError as error:
            log.warning("the store is still unavailable", reason=str(error))
        except Exception:
            log.exception("beginning anew from the store failed")
        else:
            self._failed.clear()

    def _first_unsure(self) -> int:
        # At most three commits are on their way: one written, one waiting, one just prepared.
        return max(0, self._seq - 3)

    def _hand_out(self, packed: Packed, group: list[_Waiting]) -> None:
        self._release(group)
        for waiting, receipt in zip(group, packed.receipts, strict=True):
            waiting.answer.set_result(receipt)

    def _answer(self, group: list[_Waiting], error: Exception) -> None:
        self._release(group)
        for waiting in group:
            waiting.answer.set_exception(error)

    def _release(self, group: list[_Waiting]) -> None:
        with self._door:
            self._bytes -= sum(waiting.submission.byte_count for waiting in group)
            total = self._bytes
        self._meter.queued(total)
