"""Outcomes of a delivery attempt, and a time limit for connections.

NotDeliveredError
├── TargetError     the target accepts nothing at present: retried later
└── RefusedError    the target rejects these messages for their content: dead, others follow
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
    """The message must not be assumed to have arrived."""

    reason = "not_delivered"


class TargetError(NotDeliveredError):
    """Retried, with the same messages first. `after_s` is the pause that the target requests; 0 for
    none."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class RefusedError(NotDeliveredError):
    """The receiver rejected the message; it is never retried automatically."""


class UnwantedError(NotDeliveredError):
    """The message is no longer needed, because its action or reader is gone. It is discarded."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A message in transit."""

    message_id: int
    key: str
    """Identical in every attempt."""
    notice: Notice
    action_id: int = 0
    waiting_since_us: int = 0


class Sender(Protocol):
    """Sends to one kind of target. Called from a separate thread, for one target at a time."""

    batch: int
    """Maximum messages per call."""

    def send(self, envelopes: Sequence[Envelope]) -> int:
        """Delivers some of the messages in order, at least the first, and returns their number.

        Raises TargetError, or RefusedError and UnwantedError for the first message.
        """
        ...


@contextmanager
def time_bound(connection: Callable[[], socket.socket | None], seconds: float) -> Iterator[None]:
    """Shuts down a connection that is still in use after `seconds`: timeouts of single reads do not
    limit a peer that sends one byte at a time. `connection` returns the current socket, since TLS
    replaces it. Then raises TimeoutError, even if the apparent end of the stream passed for a
    complete response."""
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
        # Not TLS's own shutdown, which another thread may be executing.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
