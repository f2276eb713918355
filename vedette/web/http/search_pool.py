"""Admission control and threads for requests that search, with a limit for the server and per user.

Searches have their own threads and store readers, so that any number of searches leaves capacity
for ingest, sensors and health checks. Requests beyond `running_max` wait in a queue per user, and
the pool serves users in turn. A user may run all but one of the concurrent searches, so that
another user's first search does not wait. While more telemetry is queued than commits can soon
store, only half as many searches start, because they share CPU cores and interpreter with ingest.

A waiting or running request ends when its client disconnects or its deadline passes, in the store
too (`CancelToken`). A thread cannot be stopped while it computes. Its slot is therefore free only
after the thread has ended, even if the request was answered earlier.
"""

import asyncio
import os
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect

from vedette.errors import BusyError, UnavailableError
from vedette.limits import Limit
from vedette.search.bounded_engine import BoundedEngine
from vedette.store.engine.cancel import CANCELLED, CancelToken
from vedette.store.engine.client import Engine
from vedette.store.engine.errors import deadline_error

SEARCH_GRACE_S: Limit[int] = 2
"""Seconds after its deadline at which a search is answered with 503 if the engine has not ended
it."""


T = TypeVar("T")

USER_LIMIT = "too_many_searches"
"""`reason` of the error for a user with too many searches."""


class SearchPool:
    """Runs requests that read telemetry. Use on the event loop only, except `close`."""

    def __init__(
        self,
        engine: Engine,
        *,
        running_max: int,
        readers_max: int,
        a_user_max: int,
        nice: int = 0,
        begin_thread: Callable[[], None] = lambda: None,
        is_ingest_behind: Callable[[], bool] = lambda: False,
    ) -> None:
        """`nice` is the niceness of the engine's threads (`BoundedEngine`). Each thread of the pool
        calls `begin_thread` first. While `is_ingest_behind` returns True, half as many searches
        start."""
        self._engine = engine
        self._threads = ThreadPoolExecutor(running_max, "search", begin_thread)
        self._readers = threading.BoundedSemaphore(readers_max)
        self._running_max = running_max
        self._nice = nice
        self._is_ingest_behind = is_ingest_behind
        self._a_user_max = a_user_max
        self._running: Counter[str] = Counter()
        self._of_user: Counter[str] = Counter()
        """Running and waiting requests by user."""
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._tokens: set[CancelToken] = set()

    async def run(
        self,
        user: str,
        disconnected: Callable[[], Awaitable[None]],
        work: Callable[[BoundedEngine], T],
        deadline_s: float,
    ) -> T:
        """Runs `work` in a thread and returns its result. Waiting for a slot counts toward the
        deadline (s). `disconnected` returns when the client has disconnected.

        Raises BusyError for a user with too many searches, UnavailableError (`reason` "deadline"),
        ClientDisconnect, and the errors of `work`.
        """
        until_s = time.monotonic() + deadline_s
        self._admit(user)
        gone = asyncio.ensure_future(disconnected())
        try:
            try:
                await self._place(user, gone, until_s)
            except BaseException:
                self._leave(user)
                raise
            return await self._run(user, gone, work, until_s)
        finally:
            gone.cancel()

    def close(self) -> None:
        """Cancels running searches and waits for their threads. Callable from any thread."""
        for token in list(self._tokens):
            token.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _admit(self, user: str) -> None:
        count = self._of_user[user]
        if count >= self._a_user_max:
            raise BusyError(
                f"{user} has {count} searches running or queued (limit "
                f"{self._a_user_max}); wait for one to finish",
                reason=USER_LIMIT,
            )
        self._of_user[user] = count + 1

    def _leave(self, user: str) -> None:
        _decrement(self._of_user, user)

    async def _place(self, user: str, gone: asyncio.Future[None], until_s: float) -> None:
        """Waits for one of the `running_max` slots."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user, deque()).append(place)
        self._give_places()
        if place.done():
            return
        try:
            await asyncio.wait(
                {place, gone},
                timeout=max(0.0, until_s - time.monotonic()),
                return_when=asyncio.FIRST_COMPLETED,
            )
        except BaseException:
            self._give_up(user, place)
            raise
        if not place.done():
            self._give_up(user, place)
            if gone.done():
                raise ClientDisconnect
            raise deadline_error()

    def _give_up(self, user: str, place: asyncio.Future[None]) -> None:
        if place.done():  # the slot was assigned at the same moment
            self._free_place(user)
            return
        self._waiting[user].remove(place)
        if not self._waiting[user]:
            del self._waiting[user]

    def _free_place(self, user: str) -> None:
        _decrement(self._running, user)
        self._give_places()

    def _give_places(self) -> None:
        """Assigns free slots to users in turn; users at their limit keep waiting."""
        places = self._places()
        while self._running.total() < places:
            user = next((one for one in self._waiting if self._may_run(one, places)), None)
            if user is None:
                return
            waiting = self._waiting.pop(user)
            waiting.popleft().set_result(None)
            self._running[user] += 1
            if waiting:
                self._waiting[user] = waiting

    def _places(self) -> int:
        """Returns the number of searches that may run now; at least 1, so that none waits
        forever."""
        return max(1, self._running_max // 2) if self._is_ingest_behind() else self._running_max

    def _may_run(self, user: str, places: int) -> bool:
        return self._running[user] < max(1, places - 1)

    async def _run(
        self,
        user: str,
        gone: asyncio.Future[None],
        work: Callable[[BoundedEngine], T],
        until_s: float,
    ) -> T:
        token = CancelToken()
        threads = max(1, (os.cpu_count() or 1) // self._running.total())
        engine = BoundedEngine(self._engine, self._readers, until_s, token, threads, self._nice)
        self._tokens.add(token)
        loop = asyncio.get_running_loop()
        # Keeps the caller's context, because the audit log records who reads a file.
        run = copy_context().run
        worker = asyncio.ensure_future(loop.run_in_executor(self._threads, run, work, engine))

        def ended(finished: asyncio.Future[T]) -> None:
            self._tokens.discard(token)
            self._free_place(user)
            self._leave(user)
            if not finished.cancelled():
                finished.exception()  # marked as retrieved; the request may have ended

        worker.add_done_callback(ended)
        try:
            grace_s = SEARCH_GRACE_S
            either: set[asyncio.Future[Any]] = {worker, gone}
            await asyncio.wait(
                either,
                timeout=max(0.0, until_s - time.monotonic()) + grace_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            if not worker.done():
                token.cancel()
        if worker.done():
            return _result(worker)
        if gone.done():
            raise ClientDisconnect
        raise deadline_error()


def _decrement(counts: Counter[str], user: str) -> None:
    counts[user] -= 1
    if not counts[user]:
        del counts[user]


def _result(worker: asyncio.Future[T]) -> T:
    """Returns the result. Reports a cancellation as an exceeded deadline, because the client is
    still connected."""
    try:
        return worker.result()
    except UnavailableError as error:
        if error.reason == CANCELLED:
            raise deadline_error() from error
        raise
