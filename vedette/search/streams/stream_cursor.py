"""The cursor of a stream in the sequence of a process's events, and moves of it. Pure.

`EventSequence` holds the number of matching events of each segment. A position is an index into it,
or a `SegmentOffset`: a segment and an offset among its matching events. Segments can appear and
disappear between requests, which shifts indexes but not segment offsets; so segment offsets are
stored, and arithmetic uses indexes. For the rules, see docs/process-analysis.md.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, Self

from vedette.search.processes.process_lookup import unknown_segment

Status = Literal["ready", "current", "complete", "void"]


@dataclass(frozen=True, slots=True)
class SegmentOffset:
    """The position `offset` matching events after the start of a segment."""

    segment_id: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Seek:
    """A move by events; negative values move backward."""

    by: int


@dataclass(frozen=True, slots=True)
class JumpBy:
    """A move by segments; segments without matching events are skipped."""

    by: int


@dataclass(frozen=True, slots=True)
class JumpTo:
    """A move to the first event of a segment, or to the next event if the segment has none."""

    segment_id: int


Move = Seek | JumpBy | JumpTo


@dataclass(frozen=True, slots=True)
class Position:
    """A position after a move, and whether the move went beyond an end."""

    index: int
    ref_segment_id: int
    overshot: int = 0
    """1 for a move beyond the end, -1 for a move before the start."""


@dataclass(frozen=True, slots=True)
class EventSequence:
    """Segments of a process, the earliest first, with cumulative counts of matching events."""

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
        """Returns the index of the first event of the `number`th segment."""
        return self.ends[number - 1] if number else 0

    def has_events(self, number: int) -> bool:
        """Whether the `number`th segment has matching events."""
        return self.ends[number] > self.begin(number)

    def index_of(self, offset: SegmentOffset) -> int:
        """Returns the index of a segment offset, or of the next event if its segment is gone or
        shorter."""
        number = bisect_left(self.segment_ids, offset.segment_id)
        begin = self.begin(number)
        if number == len(self.segment_ids) or self.segment_ids[number] != offset.segment_id:
            return begin
        return min(begin + offset.offset, self.ends[number])

    def offset_of(self, index: int) -> SegmentOffset:
        """Returns the segment offset of an index; at the end, the end of the last segment."""
        last = len(self.segment_ids) - 1
        number = min(bisect_right(self.ends, index), last)
        return SegmentOffset(self.segment_ids[number], index - self.begin(number))

    def segment_id(self, asked: int) -> int:
        """Resolves the segment number of a request; 0 and 1 are the earliest. Raises
        NotFoundError."""
        if asked in (0, 1):
            return self.segment_ids[0]
        number = bisect_left(self.segment_ids, asked)
        if number == len(self.segment_ids) or self.segment_ids[number] != asked:
            raise unknown_segment(self.process_id, asked)
        return asked

    def moved(self, position: Position, move: Move) -> Position:
        """Returns the position after a move; a move beyond an end stops at that end."""
        match move:
            case Seek(by):
                return self._bounded(position.index + by, position.ref_segment_id)
            case JumpBy(by):
                return self._jumped(position.index, by)
            case JumpTo(segment_id):
                segment_id = self.segment_id(segment_id)
                return Position(self.index_of(SegmentOffset(segment_id)), segment_id)

    def _bounded(self, index: int, ref_segment_id: int) -> Position:
        overshot = (index > self.total) - (index < 0)
        return Position(max(0, min(index, self.total)), ref_segment_id, overshot)

    def _jumped(self, index: int, by: int) -> Position:
        with_events = [n for n in range(len(self.ends)) if self.has_events(n)]
        current = min(bisect_right(self.ends, index), with_events[-1]) if with_events else 0
        wanted = bisect_left(with_events, current) + by
        if 0 <= wanted < len(with_events):
            number = with_events[wanted]
            return Position(self.begin(number), self.segment_ids[number])
        index = 0 if wanted < 0 else self.total
        overshot = 0 if not (with_events or by) else -1 if wanted < 0 else 1
        return Position(index, self.offset_of(index).segment_id, overshot)

    def status_forward(self, position: Position, rows: int) -> Status:
        """Returns `ready` while there are events after the `rows` from the position on."""
        if position.overshot > 0:
            return "void"
        if position.index + rows < self.total:
            return "ready"
        return "complete" if self.is_terminated else "current"

    def status_backward(self, position: Position) -> Status:
        """Returns `ready` while there are events before the position. No events can be added
        there."""
        if position.overshot < 0:
            return "void"
        return "ready" if position.index else "complete"

    def span(self, index: int, rows: int) -> tuple[range, int]:
        """Returns (numbers of the segments with the `rows` events from an index on, number of their
        events before the index)."""
        if index >= self.total or not rows:
            return range(0), 0
        first = bisect_right(self.ends, index)
        last = bisect_left(self.ends, min(index + rows, self.total))
        return range(first, last + 1), index - self.begin(first)
