"""Blocks stop signals in child processes, so that Ctrl-C or systemd only stop the parent, which
then ends its children in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Blocks SIGINT and SIGTERM in processes started within the block, from their first
    instruction. Such processes must end when their parent closes their channel."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
