"""A pool of clients of the engine; a client serves one caller at a time.

If a read fails (a deadline, a cancellation, an error in a later row), the embedded engine keeps the
output written so far and prepends it to the result of the client's next call (chDB 4.4). Rows of
one caller would then reach another. So a client whose call failed first runs a query with a known
result before it is used again.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError

from vedette.errors import UnavailableError
from vedette.limits import Limit

STORE_WAIT_S: Limit[int] = 30
"""Time that a read waits for a free client before it is refused with a 503."""


_LOG = logging.getLogger(__name__)


class Pool:
    """At most `size` clients, opened on demand. Thread-safe.

    `borrow` raises UnavailableError if no client is free within `limits.STORE_WAIT_S`, and after
    `close`.
    """

    def __init__(self, open_client: Callable[[], Any], size: int) -> None:
        self._open_client = open_client
        self._free = threading.Semaphore(size)
        self._open = threading.Event()
        self._open.set()
        self._size = size
        self._idle: list[Any] = []
        self._closed = False

    @contextmanager
    def borrow(self, timeout_s: float | None = None) -> Iterator[Any]:
        """Waits for a client for at most `timeout_s`, and never longer than `STORE_WAIT_S`."""
        wait_s = STORE_WAIT_S if timeout_s is None else min(timeout_s, STORE_WAIT_S)
        until_s = time.monotonic() + wait_s
        if not (self._open.wait(max(wait_s, 0)) and self._acquire(until_s)):
            raise UnavailableError("the telemetry store is busy")
        try:
            if self._closed:
                raise UnavailableError("the telemetry store is closed")
            client = self._idle.pop() if self._idle else self._open_client()
            try:
                yield client
            except BaseException as error:
                self._settle(client, error)
                raise
            self._idle.append(client)
        finally:
            self._free.release()

    def _settle(self, client: Any, error: BaseException) -> None:
        """Keeps a client whose call failed if it is connected and no output is left over; otherwise
        closes it, and the next caller opens another."""
        try:
            if not isinstance(error, OperationalError) and _is_empty(client):
                self._idle.append(client)
                return
        except (ClickHouseError, OSError) as failure:
            _LOG.warning("replacing a client of the telemetry store: %s", failure)
        client.close()

    def pause(self) -> None:
        """Makes callers wait until `resume`."""
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    @contextmanager
    def emptied(self, timeout_s: float) -> Iterator[None]:
        """Waits until no client is in use, and keeps it so. Raises UnavailableError if some are
        still in use after `timeout_s`."""
        until_s = time.monotonic() + timeout_s
        taken = 0
        try:
            while taken < self._size:
                if not self._acquire(until_s):
                    raise UnavailableError("the telemetry store is busy")
                taken += 1
            yield
        finally:
            for _ in range(taken):
                self._free.release()

    def _acquire(self, until_s: float) -> bool:
        return self._free.acquire(timeout=max(until_s - time.monotonic(), 0))

    def close(self) -> None:
        """Refuses new callers, waits for running ones, closes every client. Idempotent."""
        self._closed = True
        self._open.set()
        for _ in range(self._size):
            self._free.acquire()
        while self._idle:
            self._idle.pop().close()
        self._free.release(self._size)


def _is_empty(client: Any) -> bool:
    """Whether the client returns exactly its result; the first query may receive the leftover
    output."""
    return any(client.raw_query("SELECT 1", fmt="TabSeparated") == b"1\n" for _ in range(2))
