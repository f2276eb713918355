"""Threads of an engine for queries of one request that run at the same time.

A new thread costs a millisecond of CPU at its first query, so threads are kept. A submitted
function must not submit another one and wait for it: all threads may be waiting then (deadlock).
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from vedette import limits

P = ParamSpec("P")
T = TypeVar("T")


class QueryPool:
    """Thread-safe. Its threads begin when they are needed."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(limits.STORE_READERS, thread_name_prefix="query")

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs a function on the pool; `result` waits, and raises what it raised."""
        return self._threads.submit(function, *args, **kwargs)

    def close(self) -> None:
        """Waits for the functions that run."""
        self._threads.shutdown()
