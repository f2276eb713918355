"""Cancellation of running queries from another thread.

A caller creates one `CancelToken` per request and passes it to every query of that request. Each
running query has a unique `log_comment`, by which `QueryKiller` finds it: the driver does not let
callers choose the query id of embedded queries.

`KILL QUERY` takes effect at the engine's next check, usually within 100 ms. Phases without checks
(parsing, planning of very large statements) finish first.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from uuid import uuid4

from vedette.errors import UnavailableError, VedetteError
from vedette.limits import Limit

QUERY_KILL_INTERVAL_S: Limit[float] = 0.02
"""Interval before the second attempt to kill a query that the engine may not list yet; doubled
after each attempt."""

QUERY_KILL_INTERVAL_MAX_S: Limit[float] = 1.0
"""Maximum interval between two attempts: some phases of a query cannot be interrupted."""


Kill = Callable[[str], None]
"""Requests the end of the query with this `log_comment`; returns at once."""

CANCELLED: Final = "cancelled"
"""The `reason` of the error that a cancelled query raises."""

_LOG = logging.getLogger(__name__)


def cancelled_error() -> UnavailableError:
    return UnavailableError("the query was cancelled", reason="cancelled")


class CancelToken:
    """Cancels all queries that carry the token, running and future ones. Thread-safe.

    A cancelled query raises UnavailableError with `reason` "cancelled".
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, Kill] = {}
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def cancel(self) -> None:
        """Cancels the queries. Idempotent. Never blocks: a thread of their engine kills them."""
        with self._lock:
            if self._is_cancelled:
                return
            self._is_cancelled = True
            running = list(self._running.items())
        for comment, kill in running:
            kill(comment)

    def raise_if_cancelled(self) -> None:
        """Raises UnavailableError (`reason` "cancelled")."""
        if self._is_cancelled:
            raise cancelled_error()

    @contextmanager
    def registered(self, kill: Kill) -> Iterator[str]:
        """Registers a query for as long as it runs; yields the `log_comment` to run it with.

        Raises UnavailableError (`reason` "cancelled") if the token is already cancelled.
        """
        comment = uuid4().hex
        with self._lock:
            self.raise_if_cancelled()
            self._running[comment] = kill
        try:
            yield comment
        finally:
            with self._lock:
                del self._running[comment]


class QueryKiller:
    """Kills queries by their `log_comment`, on a thread that exists only while there are queries to
    kill.

    A query may be cancelled before the engine lists it, so `KILL QUERY` is repeated until the query
    has ended (`finished`).
    """

    def __init__(self, command: Callable[[str], object]) -> None:
        """`command` runs one statement on a connection that queries do not use."""
        self._command = command
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        self._pending: set[str] = set()
        self._is_running = False

    def kill(self, comment: str) -> None:
        """Requests the end of a query and returns at once. Comments come from `CancelToken`, so
        they need no quoting."""
        with self._lock:
            self._pending.add(comment)
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="query-killer", daemon=True).start()

    def finished(self, comment: str) -> None:
        """Records that the query has ended, by itself or killed."""
        with self._lock:
            if comment in self._pending:
                self._pending.discard(comment)
                self._ended.notify_all()

    def _run(self) -> None:
        wait_s = QUERY_KILL_INTERVAL_S
        while comments := self._next():
            listed = ", ".join(f"'{one}'" for one in comments)
            try:
                self._command(f"KILL QUERY WHERE Settings['log_comment'] IN ({listed}) ASYNC")
            except VedetteError as error:
                _LOG.warning("cannot cancel queries now: %s", error)
            with self._lock:
                self._ended.wait(wait_s)
            wait_s = min(2 * wait_s, QUERY_KILL_INTERVAL_MAX_S)

    def _next(self) -> list[str]:
        with self._lock:
            self._is_running = bool(self._pending)
            return sorted(self._pending)
