"""Event streams of a host: frame event bodies as `_bulk` entries.

The constant parts are rendered once per stream. An entry is a list of pieces that is joined with
those of the whole body, so each byte is copied once.
"""

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Protocol

from vedette.simulate.timestamps import MILLIS, second_text


class Stream(Protocol):
    """Frames event bodies. Call it in time order, because sequence numbers increase."""

    framing_bytes: int
    """Approximate bytes that a frame adds to a body; record ids grow."""

    def frame(self, at_us: int, body: bytes) -> tuple[bytes, ...]:
        """Returns action line and document as pieces, each with its line end."""
        ...


Event = tuple[int, Stream, bytes]
"""(time in epoch microseconds, stream, body in the format of that stream)."""

_STAMPS_BYTES = 50
"""Size of two times and a record id."""

time_of: Callable[[Event], int] = itemgetter(0)


class SysmonStream:
    """Sysmon events of one event id: inserts the envelope's time, the record id and UtcTime."""

    __slots__ = ("_parts", "_record_ids", "framing_bytes")

    def __init__(self, parts: tuple[bytes, bytes, bytes, bytes, bytes], ids: Iterator[int]) -> None:
        """`parts` are the texts before, between and after time, record id, UtcTime and body."""
        self.framing_bytes = sum(map(len, parts)) + _STAMPS_BYTES
        self._parts = parts
        self._record_ids = ids

    def frame(self, at_us: int, body: bytes) -> tuple[bytes, ...]:
        second, micros = divmod(at_us, 1_000_000)
        iso, utc = second_text(second)
        millis = MILLIS[micros // 1000]
        number = b"%d" % next(self._record_ids)
        head, to_number, to_utc, to_body, tail = self._parts
        return head, iso, millis, to_number, number, to_utc, utc, millis, to_body, body, tail


class EventLogStream:
    """Other event-log records of one event id: inserts the envelope's time and the record id."""

    __slots__ = ("_parts", "_record_ids", "framing_bytes")

    def __init__(self, parts: tuple[bytes, bytes, bytes, bytes], ids: Iterator[int]) -> None:
        """`parts` are the texts before, between and after time, record id and body."""
        self.framing_bytes = sum(map(len, parts)) + _STAMPS_BYTES
        self._parts = parts
        self._record_ids = ids

    def frame(self, at_us: int, body: bytes) -> tuple[bytes, ...]:
        second, micros = divmod(at_us, 1_000_000)
        iso, _ = second_text(second)
        number = b"%d" % next(self._record_ids)
        head, to_number, to_body, tail = self._parts
        return head, iso, MILLIS[micros // 1000], to_number, number, to_body, body, tail


class PlainStream:
    """Streams with complete bodies, framed by the constant members of the host."""

    __slots__ = ("_head", "_tail", "framing_bytes")

    def __init__(self, head: bytes, tail: bytes) -> None:
        self.framing_bytes = len(head) + len(tail)
        self._head = head
        self._tail = tail

    def frame(self, at_us: int, body: bytes) -> tuple[bytes, ...]:  # noqa: ARG002 - body has time
        return self._head, body, self._tail
