"""Blocks stop signals in child processes, so that Ctrl-C or systemd stop only the parent, which
then ends its children in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Processes started within have SIGINT and SIGTERM blocked, from their first instruction. They
    have to end when their parent closes their channel."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
