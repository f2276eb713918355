"""How an attempt to deliver can end, and bounds in time for whoever it talks to.

NotDeliveredError
├── TargetError     the target does not take anything now: it is tried again later
└── RefusedError    it refuses these messages for what they say: they are dead, others follow
"""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from vedette.errors import VedetteError
from vedette.notify.notice import Notice


class NotDeliveredError(VedetteError):
    """Nobody may assume that it arrived."""

    reason = "not_delivered"


class TargetError(NotDeliveredError):
    """Retried, the same messages first. `after_s` is what the target asks to wait, 0 if nothing."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class RefusedError(NotDeliveredError):
    """Never retried by itself."""


class UnwantedError(NotDeliveredError):
    """Nobody wants the message any more: its action or its reader is gone. It is discarded."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message on its way."""

    message_id: int
    key: str
    """The same in every attempt."""
    notice: Notice
    action_id: int = 0
    waiting_since_us: int = 0


class Sender(Protocol):
    """One kind of target. Called from a thread of its own, for one target at a time."""

    batch: int
    """How many messages are worth taking at a time."""

    def send(self, envelopes: Sequence[Envelope]) -> int:
        """Deliver some of them, at least the first, in order; how many arrived.

        Raises TargetError, or RefusedError and UnwantedError for the first of them.
        """
        ...


@contextmanager
def time_bound(connection: Callable[[], socket.socket | None], seconds: float) -> Iterator[None]:
    """Cuts a connection that is still in use after `seconds`: time limits of single reads say
    nothing about a peer that answers a byte at a time. `connection` says which socket it is then,
    since TLS puts another in its place. Raises TimeoutError then, also where the end that the peer
    seems to have made passes for a whole answer."""
    is_over = threading.Event()

    def cut() -> None:
        is_over.set()
        _cut(connection())

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if is_over.is_set():
            raise TimeoutError(f"it took more than {seconds:g} seconds")


def _cut(connection: socket.socket | None) -> None:
    if connection is None:
        return
    with suppress(OSError):
        # Not TLS's own, which another thread is in the middle of.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
