"""The events of a process from one segment on, counted by facets within a time limit (api.md 2.9).

Segments are looked at in steps of so many events, the earliest first, so that the clock can be
looked at between them; a step that the limit cuts short does not count.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vedette import limits
from vedette.errors import UnavailableError
from vedette.model.event_facets import EVENT_FACETS, EVENT_TYPE
from vedette.model.scope import Scope
from vedette.search.bodies.process import Body
from vedette.search.processes.not_found import unknown_process
from vedette.search.streams.stream_cursor import Track
from vedette.store.engine.client import Engine
from vedette.store.read.event_facets import FacetCounts, count_event_facets
from vedette.store.read.segment_counts import Outline, outline


@dataclass(slots=True)
class _Tally:
    """What was counted so far."""

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
            if value in counter or len(counter) < limits.FACET_VALUES_HELD_MAX:
                counter[value] += count


def bulk(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int,
    until_us: int | None,
    timeout_s: float,
) -> Body:
    """Hits and facets of the events from a segment on, none later than `until_us`.

    Raises NotFoundError for an unknown process or segment.
    """
    end_s = time.monotonic() + timeout_s
    found = outline(engine, process_id, scope)
    if found is None:
        raise unknown_process(process_id)
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
    return _body(tally)


def _steps(process_id: str, found: Outline, segment: int) -> Iterator[range]:
    """Segments by number, in steps of at most so many events, or of one segment."""
    track = Track.of_counts(process_id, found.segment_ids, found.totals)
    number = found.segment_ids.index(track.segment_id(segment))
    while number < len(found.segment_ids):
        most = track.begin(number) + limits.BULK_EVENTS_A_STEP
        end = track.place_of(most).segment_id if most < track.total else None
        after = len(found.segment_ids) if end is None else found.segment_ids.index(end)
        after = max(number + 1, after)
        yield range(number, after)
        number = after


def _body(tally: _Tally) -> Body:
    return {
        "alliance_hits": {},
        "on_demand_hits": {},
        "facets": {
            "terms": [_term(name, counter) for name, counter in tally.values.items() if counter],
            "num_found": tally.found,
            "processed_segments": tally.segments,
        },
        "partial_results": tally.is_partial,
    }


def _term(name: str, counter: Counter[str]) -> dict[str, Any]:
    """A facet field with its most frequent values; equal counts in the order of ids."""
    ordered: Sequence[tuple[str, int]] = sorted(
        counter.items(), key=lambda item: (-item[1], item[0])
    )
    names = EVENT_FACETS[name].names
    return {
        "field": name,
        "values": [
            {"id": value, "name": names.get(value, value), "total": total}
            for value, total in ordered[: limits.FACET_VALUES_MAX]
        ],
    }
