"""Event streams of a host: what turns an event's body into one framed `_bulk` entry.

Everything that does not change from event to event is rendered once per stream, so framing
an event is one `%` and one concatenation.
"""

from collections.abc import Iterator
from typing import Protocol

from vedette.simulate.stamp import MILLIS, second_text


class Stream(Protocol):
    """Frames bodies. Calls come in the order of time, so numbers given here rise."""

    def frame(self, at_us: int, body: bytes) -> bytes:
        """Action line and document, each with its line end."""
        ...


Event = tuple[int, Stream, bytes]
"""Time in epoch microseconds, where it is logged, body in that stream's own shape."""


def time_of(event: Event) -> int:
    return event[0]


class SysmonStream:
    """Sysmon events of one id: the envelope's time, the record id and UtcTime are filled in."""

    __slots__ = ("_head", "_record_ids", "_tail")

    def __init__(self, head: bytes, tail: bytes, record_ids: Iterator[int]) -> None:
        self._head = head
        self._tail = tail
        self._record_ids = record_ids

    def frame(self, at_us: int, body: bytes) -> bytes:
        second, micros = divmod(at_us, 1_000_000)
        date, clock = second_text(second)
        millis = MILLIS[micros // 1000]
        fields = (date, clock, millis, next(self._record_ids), date, clock, millis)
        return self._head % fields + body + self._tail


class EventLogStream:
    """Other event-log records of one id: the envelope's time and the record id are filled in."""

    __slots__ = ("_head", "_record_ids", "_tail")

    def __init__(self, head: bytes, tail: bytes, record_ids: Iterator[int]) -> None:
        self._head = head
        self._tail = tail
        self._record_ids = record_ids

    def frame(self, at_us: int, body: bytes) -> bytes:
        second, micros = divmod(at_us, 1_000_000)
        date, clock = second_text(second)
        fields = (date, clock, MILLIS[micros // 1000], next(self._record_ids))
        return self._head % fields + body + self._tail


class PlainStream:
    """Streams whose bodies are whole but for what all documents of the host share."""

    __slots__ = ("_head", "_tail")

    def __init__(self, head: bytes, tail: bytes) -> None:
        self._head = head
        self._tail = tail

    def frame(self, at_us: int, body: bytes) -> bytes:  # noqa: ARG002 - the body has its time
        return self._head + body + self._tail
