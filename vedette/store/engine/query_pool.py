"""Thread pool for queries of one request that run at the same time.

A new thread costs a millisecond of CPU at its first query, so threads are kept. A submitted
function must not submit another one and wait for it: all threads may be waiting then (deadlock).
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from vedette import limits

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = ThreadPoolExecutor(limits.STORE_READERS, thread_name_prefix="query")


def submit(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Runs a function on the pool; `result` waits, and raises what it raised."""
    return _THREADS.submit(function, *args, **kwargs)
