"""Where a stream stands in the sequence of a process's events, and where a move takes it.

Pure: the sequence is how many events each segment holds in a view, and a position is an index
into it, or a place: a segment and an offset among its events in the view. Places survive what
indexes do not, segments that come and go; so places are kept, and indexes are counted with.
The rules for people are in docs/process-analysis.md.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, Self

from vedette.search.processes.not_found import unknown_segment

Status = Literal["ready", "current", "complete", "void"]


@dataclass(frozen=True, slots=True)
class Place:
    """A position: `offset` events of the view into a segment."""

    segment_id: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Seek:
    """Move by events; backward when negative."""

    by: int


@dataclass(frozen=True, slots=True)
class JumpBy:
    """Move to the first event of another segment, counting those that hold events of the view."""

    by: int


@dataclass(frozen=True, slots=True)
class JumpTo:
    """Move to the first event of a segment, or the next one there is."""

    segment_id: int


Move = Seek | JumpBy | JumpTo


@dataclass(frozen=True, slots=True)
class Stand:
    """A position after a move, and whether the move went too far."""

    index: int
    ref_segment_id: int
    overshot: int = 0
    """1 beyond the end, -1 before the beginning."""


@dataclass(frozen=True, slots=True)
class Track:
    """Segments of a process, the earliest first, and the number of events before each one's end."""

    process_id: str
    segment_ids: Sequence[int]
    ends: Sequence[int]
    is_terminated: bool = False

    @classmethod
    def of_counts(
        cls,
        process_id: str,
        segment_ids: Sequence[int],
        counts: Sequence[int],
        is_terminated: bool = False,
    ) -> Self:
        return cls(process_id, segment_ids, list(accumulate(counts)), is_terminated)

    @property
    def total(self) -> int:
        return self.ends[-1] if self.ends else 0

    def begin(self, number: int) -> int:
        """Index of the first event of the `number`th segment."""
        return self.ends[number - 1] if number else 0

    def holds(self, number: int) -> bool:
        """Whether the `number`th segment has events of the view."""
        return self.ends[number] > self.begin(number)

    def index_of(self, place: Place) -> int:
        """Index of a place; of the next event there is when its segment is gone or shorter."""
        number = bisect_left(self.segment_ids, place.segment_id)
        begin = self.begin(number)
        if number == len(self.segment_ids) or self.segment_ids[number] != place.segment_id:
            return begin
        return min(begin + place.offset, self.ends[number])

    def place_of(self, index: int) -> Place:
        """The place of the event with an index; at the end, that of the last segment's end."""
        last = len(self.segment_ids) - 1
        number = min(bisect_right(self.ends, index), last)
        return Place(self.segment_ids[number], index - self.begin(number))

    def segment_id(self, asked: int) -> int:
        """A segment as named in a request, 0 and 1 for the earliest. Raises NotFoundError."""
        if asked in (0, 1):
            return self.segment_ids[0]
        number = bisect_left(self.segment_ids, asked)
        if number == len(self.segment_ids) or self.segment_ids[number] != asked:
            raise unknown_segment(self.process_id, asked)
        return asked

    def moved(self, stand: Stand, move: Move) -> Stand:
        """Where a move leads; what goes too far stays at the end, or the beginning."""
        match move:
            case Seek(by):
                return self._bounded(stand.index + by, stand.ref_segment_id)
            case JumpBy(by):
                return self._jumped(stand.index, by)
            case JumpTo(segment_id):
                segment_id = self.segment_id(segment_id)
                return Stand(self.index_of(Place(segment_id)), segment_id)

    def _bounded(self, index: int, ref_segment_id: int) -> Stand:
        overshot = (index > self.total) - (index < 0)
        return Stand(max(0, min(index, self.total)), ref_segment_id, overshot)

    def _jumped(self, index: int, by: int) -> Stand:
        filled = [n for n in range(len(self.ends)) if self.holds(n)]
        current = min(bisect_right(self.ends, index), filled[-1]) if filled else 0
        wanted = bisect_left(filled, current) + by
        if 0 <= wanted < len(filled):
            number = filled[wanted]
            return Stand(self.begin(number), self.segment_ids[number])
        index = 0 if wanted < 0 else self.total
        overshot = 0 if not (filled or by) else -1 if wanted < 0 else 1
        return Stand(index, self.place_of(index).segment_id, overshot)

    def status_forward(self, stand: Stand, rows: int) -> Status:
        """`ready` while there are events behind the `rows` from the position on."""
        if stand.overshot > 0:
            return "void"
        if stand.index + rows < self.total:
            return "ready"
        return "complete" if self.is_terminated else "current"

    def status_backward(self, stand: Stand) -> Status:
        """`ready` while there are events before the position. None can be added there."""
        if stand.overshot < 0:
            return "void"
        return "ready" if stand.index else "complete"

    def span(self, index: int, rows: int) -> tuple[range, int]:
        """Which segments hold the `rows` events from an index on, and how many of their events
        come before."""
        if index >= self.total or not rows:
            return range(0), 0
        first = bisect_right(self.ends, index)
        last = bisect_left(self.ends, min(index + rows, self.total))
        return range(first, last + 1), index - self.begin(first)
