"""Counts facets over the events of a process from a given segment on, within a time limit
(docs/process-analysis-facets.md#facet-fields).

Segments are counted in steps of `BULK_EVENTS_A_STEP` events, the earliest first. The time limit is
checked between steps. A step that exceeds it is not counted.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.model.event_facets import EVENT_FACETS, EVENT_TYPE
from vedette.model.findings.tag import Tag, newest
from vedette.model.scope import Scope
from vedette.search.processes.process_lookup import unknown_process
from vedette.search.streams.stream_cursor import EventSequence
from vedette.store.engine.client import Engine
from vedette.store.read.detection.tags import tags_of_process
from vedette.store.read.event_facets import FacetCounts, count_event_facets
from vedette.store.read.segment_counts import SegmentCounts, load_segment_counts

BULK_EVENTS_A_STEP: Limit[int] = 250_000
"""Events that a bulk request counts between two checks of its time limit, about 0.3 seconds."""

FACET_VALUES_HELD_MAX: Limit[int] = 100_000
"""Distinct values of one facet field that a bulk request counts; further values are dropped."""


@dataclass(frozen=True, slots=True)
class EventFacets:
    """Facet counts of the events that were counted within the time limit."""

    found: int
    """Number of events counted."""
    segments: int
    values: Mapping[str, Mapping[str, int]]
    """Maps facet field to the count of each value id; at most `FACET_VALUES_HELD_MAX` ids per
    field."""
    is_partial: bool
    """Whether the time limit ended the count."""
    tags: Sequence[Tag] = ()
    """Tags of all segments of the process."""


@dataclass(slots=True)
class _Tally:
    """Counts accumulated so far."""

    found: int = 0
    segments: int = 0
    is_partial: bool = False
    values: dict[str, Counter[str]] = field(
        default_factory=lambda: {name: Counter() for name in EVENT_FACETS}
    )

    def add(self, counts: FacetCounts, segments: int) -> None:
        self.segments += segments
        self.found += sum(counts.kinds.values())
        self.values[EVENT_TYPE].update(counts.kinds)
        for name, value, count in counts.values:
            counter = self.values[name]
            if value in counter or len(counter) < FACET_VALUES_HELD_MAX:
                counter[value] += count


def bulk(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int,
    until_us: int | None,
    timeout_s: float,
) -> EventFacets:
    """Counts facets of the events from a segment on, up to `until_us` (epoch microseconds).

    Raises NotFoundError for an unknown process or segment.
    """
    end_s = time.monotonic() + timeout_s
    found = load_segment_counts(engine, process_id, scope)
    if found is None:
        raise unknown_process(engine, scope, process_id)
    tally = _Tally()
    for numbers in _steps(process_id, found, segment):
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            tally.is_partial = True
            break
        windows = sorted({found.window_ms[number] for number in numbers})
        ends = found.segment_ids[numbers[0]], found.segment_ids[numbers[-1]]
        try:
            counts = count_event_facets(engine, process_id, scope, windows, ends, until_us, left_s)
        except UnavailableError as error:
            if error.reason != "deadline":
                raise
            tally.is_partial = True
            break
        tally.add(counts, len(numbers))
    tags = newest(tags_of_process(engine, process_id))
    return EventFacets(tally.found, tally.segments, tally.values, tally.is_partial, tags)


def _steps(process_id: str, found: SegmentCounts, segment: int) -> Iterator[range]:
    """Yields index ranges of segments with at most `BULK_EVENTS_A_STEP` events each; a larger
    segment is a range of its own."""
    sequence = EventSequence.of_counts(process_id, found.segment_ids, found.totals)
    number = found.segment_ids.index(sequence.segment_id(segment))
    while number < len(found.segment_ids):
        most = sequence.begin(number) + BULK_EVENTS_A_STEP
        end = sequence.offset_of(most).segment_id if most < sequence.total else None
        after = len(found.segment_ids) if end is None else found.segment_ids.index(end)
        after = max(number + 1, after)
        yield range(number, after)
        number = after
