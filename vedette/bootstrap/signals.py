"""Processes that a signal to stop is not meant for: they end when who started them is gone."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Processes started within never see a signal to stop, from their first moment: whoever started
    them is told, and says when there is nothing left to do."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
