"""Many small durable writes as one: what arrives together shares a transaction, and its fsync.

A fleet checks in hundreds of times a second, and each answer promises that what was told is kept.
So the work of all requests of a few milliseconds runs in one transaction, on one thread, and
everyone is answered after the commit. Works of one batch run in the order of their keys, so that
two servers on one database cannot block each other.
"""

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from vedette import limits
from vedette.errors import UnavailableError, VedetteError
from vedette.state.engine import Database

T = TypeVar("T")

Work = Callable[[Connection], T]
"""Reads and writes within the transaction. Whatever it refuses (VedetteError) it must refuse
before its first write: the others of the batch are committed all the same."""


@dataclass(frozen=True, slots=True)
class _Waiting(Generic[T]):
    key: int
    work: Work[T]
    answer: "Future[T]"


class GroupCommit:
    """See the module. `close` finishes what was accepted."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inbox: queue.SimpleQueue[_Waiting[Any] | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._loop, name="group commit", daemon=True)
        self._thread.start()

    def submit(self, key: int, work: Work[T]) -> "Future[T]":
        """The future has the work's value once it is durable, or what it raised.

        Raises UnavailableError after `close`.
        """
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()  # a sender that goes away takes nothing back
        with self._door:
            if self._is_closed:
                raise UnavailableError("the server is shutting down")
            self._inbox.put(_Waiting(key, work, answer))
        return answer

    def close(self) -> None:
        with self._door:
            self._is_closed = True
            self._inbox.put(None)
        self._thread.join()

    def _loop(self) -> None:
        ends = False
        while not ends:
            first = self._inbox.get()
            if first is None:
                return
            batch, ends = self._gather(first)
            batch.sort(key=lambda waiting: waiting.key)
            if not self._commit(batch):
                # One of them has broken the transaction: each on its own finds out which.
                for waiting in batch:
                    self._commit([waiting], is_last=True)

    def _gather(self, first: _Waiting[Any]) -> tuple[list[_Waiting[Any]], bool]:
        batch = [first]
        deadline = time.monotonic() + limits.STATE_COMMIT_WAIT_MS / 1_000
        while len(batch) < limits.STATE_COMMIT_WORKS_MAX:
            try:
                item = self._inbox.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _commit(self, batch: list[_Waiting[Any]], is_last: bool = False) -> bool:
        """Whether everyone is answered; not when the whole transaction failed."""
        try:
            with self._database.writing() as connection:
                results = [_result(waiting, connection) for waiting in batch]
        except Exception as error:  # noqa: BLE001 - handed to who waits for it
            if not is_last and len(batch) > 1 and not isinstance(error, UnavailableError):
                return False
            for waiting in batch:
                waiting.answer.set_exception(error)
            return True
        for waiting, (value, refusal) in zip(batch, results, strict=True):
            if refusal is None:
                waiting.answer.set_result(value)
            else:
                waiting.answer.set_exception(refusal)
        return True


def _result(waiting: _Waiting[Any], connection: Connection) -> tuple[Any, VedetteError | None]:
    try:
        return waiting.work(connection), None
    except VedetteError as refusal:
        return None, refusal
