"""Asking the store something beside something else.

A thread that asks for the first time costs a millisecond of processor time, so the threads are
kept. What is asked here must not ask something beside itself: it would wait for its own thread.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from vedette import limits

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = ThreadPoolExecutor(limits.STORE_READERS, thread_name_prefix="beside")


def beside(ask: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Begins to ask; `result` waits for the answer, or raises what asking raised."""
    return _THREADS.submit(ask, *args, **kwargs)
