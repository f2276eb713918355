"""Threads of an engine for parallel queries of one request.

A new thread costs a millisecond of CPU at its first query, so threads are kept. A submitted
function must not submit another one and wait for it: all threads could then be waiting (deadlock).
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from vedette import limits

P = ParamSpec("P")
T = TypeVar("T")


class QueryPool:
    """The thread pool. Thread-safe. Threads start on demand."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(limits.STORE_READERS, thread_name_prefix="query")

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs a function on the pool. `result` of the future waits, and raises the function's
        exception."""
        return self._threads.submit(function, *args, **kwargs)

    def close(self) -> None:
        """Waits for the running functions."""
        self._threads.shutdown()
