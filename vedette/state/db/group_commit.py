"""Group commit: small durable writes that arrive together share a transaction, and its fsync.

A fleet checks in hundreds of times a second, and each answer guarantees durability. The writes of a
few milliseconds run in one transaction, on one thread, and their futures are resolved after the
commit. Items of one kind run in the order of their keys, so that two servers on one database cannot
deadlock.
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

from vedette import limits
from vedette.errors import UnavailableError, VedetteError
from vedette.state.db.author import Author, set_author
from vedette.state.db.database import Database

T = TypeVar("T")
Item = TypeVar("Item")

Work = Callable[[Connection], T]
"""Reads and writes within the transaction. Whatever it refuses (VedetteError) it must refuse
before its first write: the others of the batch are committed all the same."""

BulkWork = Callable[[Connection, Sequence[Item]], Sequence[T | VedetteError]]
"""The same for many items at once, with a result or a refusal for each, in order."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    key: int
    bulk: BulkWork[Any, Any]
    item: Any
    answer: "Future[Any]"


class GroupCommit:
    """See the module. `close` completes the accepted writes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inbox: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._loop, name="group commit", daemon=True)
        self._thread.start()

    def submit(self, key: int, work: Work[T]) -> "Future[T]":
        """The future has the work's result once it is durable, or its exception.

        Raises UnavailableError after `close`.
        """
        return self.submit_to(_each, key, work)

    def submit_to(self, bulk: BulkWork[Item, T], key: int, item: Item) -> "Future[T]":
        """Like `submit`, for one item of work that is done in bulk."""
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()  # a client that disconnects cancels nothing
        with self._door:
            if self._is_closed:
                raise UnavailableError("the server is shutting down")
            self._inbox.put(_Waiting(key, bulk, item, answer))
        return answer

    def close(self) -> None:
        with self._door:
            self._is_closed = True
            self._inbox.put(None)
        self._thread.join()

    def _loop(self) -> None:
        # Works of sensors; changes by people are made in transactions of their own.
        set_author(Author("sensor", ""))
        ends = False
        while not ends:
            first = self._inbox.get()
            if first is None:
                return
            batch, ends = self._gather(first)
            batch.sort(key=lambda waiting: (_kind(waiting), waiting.key))
            if not self._commit(batch):
                # One of them has broken the transaction: each on its own finds out which.
                for waiting in batch:
                    self._commit([waiting], is_last=True)

    def _gather(self, first: _Waiting) -> tuple[list[_Waiting], bool]:
        batch = [first]
        # Asleep, not at the inbox: to be woken for each of them takes the interpreter from those
        # who bring more.
        if self._inbox.qsize() < limits.STATE_COMMIT_COMPANY:
            time.sleep(limits.STATE_COMMIT_WAIT_MS / 1_000)
        while len(batch) < limits.STATE_COMMIT_WORKS_MAX:
            try:
                item = self._inbox.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _commit(self, batch: list[_Waiting], is_last: bool = False) -> bool:
        """Whether all futures are resolved; not when the whole transaction failed."""
        results: list[Any] = []
        try:
            with self._database.writing() as connection:
                for _, same in groupby(batch, _kind):
                    group = list(same)
                    results += group[0].bulk(connection, [waiting.item for waiting in group])
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


def _each(connection: Connection, works: Sequence[Work[T]]) -> list[T | VedetteError]:
    return [_result(work, connection) for work in works]


def _result(work: Work[T], connection: Connection) -> T | VedetteError:
    try:
        return work(connection)
    except VedetteError as refusal:
        return refusal
