"""Group commit: small durable writes that arrive together share a transaction and its fsync.

A fleet checks in hundreds of times per second, and each response guarantees durability. The writes
of a few milliseconds run in one transaction on one thread, and their futures are resolved after the
commit. Items of one kind run in the order of their keys, so that two servers on one database cannot
deadlock.

All callers wait for the slowest unit of work, so each unit is bounded: `STATE_WORK_ROWS_MAX` rows
and `STATE_WORK_BYTES_MAX`, plus the bytes that its submission declares.
`statement_budget.allowance` raises at a statement that exceeds the bound; that unit fails alone,
and the others are committed. Larger changes belong in several submissions, or in their own
transactions (`Database.writing`).
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Connection

from vedette.errors import UnavailableError, VedetteError
from vedette.limits import Limit
from vedette.state.db.author import Author, set_author
from vedette.state.db.database import Database
from vedette.state.db.statement_budget import allowance

STATE_COMMIT_WAIT_MS: Limit[int] = 15
"""Time (ms) for which a write to the state database waits for others to join."""

STATE_COMMIT_COMPANY: Limit[int] = 8
"""Number of waiting writes above which a transaction starts without further delay."""

STATE_COMMIT_WORKS_MAX: Limit[int] = 256
"""Writes that share a transaction."""

STATE_COMMIT_BYTES_MAX: Limit[int] = 8 * 1024 * 1024
"""Declared extra bytes in one shared transaction; the work that would exceed it goes into the next
transaction."""

STATE_WORK_ROWS_MAX: Limit[int] = 64
"""Rows of one unit of work in a shared transaction: statements, parameter sets or changed rows. A
check-in has five."""

STATE_WORK_BYTES_MAX: Limit[int] = 128 * 1024
"""Bytes of values of a unit of work that declares no extra bytes. A check-in has 20 kB at most, a
queue's record 45 kB."""


T = TypeVar("T")
Item = TypeVar("Item")

Work = Callable[[Connection], T]
"""Reads and writes within the transaction. It must raise a refusal (VedetteError) before its first
write, since the rest of the batch is committed anyway."""

BulkWork = Callable[[Connection, Sequence[Item]], Sequence[T | VedetteError]]
"""Like `Work`, for many items at once. Returns a result or a refusal for each item, in order."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    key: int
    bulk: BulkWork[Any, Any]
    item: Any
    further_bytes: int
    answer: "Future[Any]"


class GroupCommit:
    """Runs group commits (see the module). `close` completes the accepted writes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inbox: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._loop, name="group commit", daemon=True)
        self._thread.start()

    def submit(self, key: int, work: Work[T], further_bytes: int = 0) -> "Future[T]":
        """Queues work; the future gets its result once it is durable, or its exception. Work that
        writes more than `STATE_WORK_BYTES_MAX` declares the additional `further_bytes`.

        Raises UnavailableError after `close`. The future raises OversizedWorkError for work above
        its bounds.
        """
        return self._submit(_each, key, work, further_bytes)

    def submit_to(self, bulk: BulkWork[Item, T], key: int, item: Item) -> "Future[T]":
        """Like `submit`, for one item of bulk work."""
        return self._submit(bulk, key, item, 0)

    def _submit(
        self, bulk: BulkWork[Item, T], key: int, item: Item, further_bytes: int
    ) -> "Future[T]":
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()  # a client disconnect cancels nothing
        with self._door:
            if self._is_closed:
                raise UnavailableError("the server is shutting down")
            self._inbox.put(_Waiting(key, bulk, item, further_bytes, answer))
        return answer

    def close(self) -> None:
        with self._door:
            self._is_closed = True
            self._inbox.put(None)
        self._thread.join()

    def _loop(self) -> None:
        # The author is a sensor; changes by people run in their own transactions.
        set_author(Author("sensor", ""))
        left: _Waiting | None = None
        while (first := left or self._inbox.get()) is not None:
            batch, left, ends = self._gather(first)
            batch.sort(key=lambda waiting: (_kind(waiting), waiting.key))
            if not self._commit(batch):
                # One of them broke the transaction: run each alone to find out which.
                for waiting in batch:
                    self._commit([waiting], is_last=True)
            if ends:
                return

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], _Waiting | None, bool]:
        """Returns the works of one transaction, a work that must wait for the next one, and whether
        the inbox is closed."""
        batch, further_bytes = [first], first.further_bytes
        # Sleep instead of waiting on the inbox: waking for every item would take the interpreter
        # lock from the producers.
        if self._inbox.qsize() < STATE_COMMIT_COMPANY:
            time.sleep(STATE_COMMIT_WAIT_MS / 1_000)
        while len(batch) < STATE_COMMIT_WORKS_MAX:
            try:
                item = self._inbox.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return batch, None, True
            further_bytes += item.further_bytes
            if further_bytes > STATE_COMMIT_BYTES_MAX:
                return batch, item, False
            batch.append(item)
        return batch, None, False

    def _commit(self, batch: list[_Waiting], is_last: bool = False) -> bool:
        """Commits a batch. Returns whether all futures are resolved; False if the whole transaction
        failed."""
        results: list[Any] = []
        try:
            with self._database.writing() as connection:
                for _, same in groupby(batch, _kind):
                    group = list(same)
                    results += _run(connection, group)
        except Exception as error:  # noqa: BLE001 - handed to who waits for it
            if not is_last and len(batch) > 1 and not isinstance(error, UnavailableError):
                return False
            for waiting in batch:
                waiting.answer.set_exception(error)
            return True
        for waiting, result in zip(batch, results, strict=True):
            if isinstance(result, VedetteError):
                waiting.answer.set_exception(result)
            else:
                waiting.answer.set_result(result)
        return True


def _kind(waiting: _Waiting) -> str:
    return waiting.bulk.__qualname__


def _run(connection: Connection, group: Sequence[_Waiting]) -> Sequence[Any]:
    """Runs works of one kind within their bounds and returns their results."""
    bulk = group[0].bulk
    if bulk == _each:
        return [_result(waiting.item, connection, waiting.further_bytes) for waiting in group]
    rows = STATE_WORK_ROWS_MAX * len(group)
    with allowance(connection, rows, STATE_WORK_BYTES_MAX * len(group)):
        return bulk(connection, [waiting.item for waiting in group])


def _each(connection: Connection, works: Sequence[Work[T]]) -> list[T | VedetteError]:
    """The bulk function of works that run one by one (`_run`)."""
    return [_result(work, connection, 0) for work in works]


def _result(work: Work[T], connection: Connection, further_bytes: int) -> T | VedetteError:
    byte_count = STATE_WORK_BYTES_MAX + further_bytes
    try:
        with allowance(connection, STATE_WORK_ROWS_MAX, byte_count):
            return work(connection)
    except VedetteError as refusal:
        return refusal
