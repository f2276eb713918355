"""Cache of the number of events in each segment of a process that match a filter.

Counts of all events, and of whole kinds, are one cheap store query and are not cached. Other
filters read every event. A cached count is valid while the total of the segment is unchanged,
because events are only ever added; only segments whose total has changed are counted again.
"""

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from vedette.limits import Limit
from vedette.model.event_facets import EventFilter
from vedette.model.scope import Scope
from vedette.search.streams.stream_cursor import EventSequence
from vedette.store.engine.client import Engine
from vedette.store.read.process_events import count_wanted
from vedette.store.read.segment_counts import SegmentCounts, load_segment_counts

VIEW_COUNTS_MAX: Limit[int] = 64
"""Filters whose event counts by segment are cached, 16 bytes per segment. The least recently used
are evicted and counted again when needed."""

VIEW_COUNT_WINDOWS_MAX: Limit[int] = 1_000
"""Windows listed in one store query; with more, the query counts all segments of the process."""


@dataclass(frozen=True, slots=True)
class FilteredProcess:
    """The segments of a process and their events that match a filter."""

    segments: SegmentCounts
    sequence: EventSequence


@dataclass(frozen=True, slots=True)
class _Counted:
    """For each segment: the number of all events at the time of the count, and of those that
    matched."""

    segment_ids: "array[int]"
    totals: "array[int]"
    counts: "array[int]"


class FilteredCounts:
    """LRU cache by process and filter, at most `VIEW_COUNTS_MAX` entries. Thread-safe."""

    def __init__(self) -> None:
        self._counted: OrderedDict[tuple[str, EventFilter], _Counted] = OrderedDict()
        self._lock = Lock()

    def view(
        self, engine: Engine, process_id: str, scope: Scope, wanted: EventFilter
    ) -> FilteredProcess | None:
        """Returns the process under a filter; None if it does not exist in this scope."""
        found = load_segment_counts(engine, process_id, scope, wanted.kinds)
        if found is None:
            return None
        counts = found.chosen
        if not wanted.asks_only_for_kinds:
            counts = self._counts(engine, process_id, scope, wanted, found)
        ids, is_terminated = found.segment_ids, found.is_terminated
        return FilteredProcess(
            found, EventSequence.of_counts(process_id, ids, counts, is_terminated)
        )

    def _counts(
        self,
        engine: Engine,
        process_id: str,
        scope: Scope,
        wanted: EventFilter,
        found: SegmentCounts,
    ) -> "array[int]":
        cached = self._cached(process_id, wanted)
        counts: list[int | None] = [
            0 if not chosen else cached.get((segment_id, total))
            for segment_id, total, chosen in zip(
                found.segment_ids, found.totals, found.chosen, strict=True
            )
        ]
        stale = [number for number, count in enumerate(counts) if count is None]
        if stale:
            windows = sorted({found.window_ms[number] for number in stale})
            some = windows if len(windows) <= VIEW_COUNT_WINDOWS_MAX else None
            fresh = count_wanted(engine, process_id, scope, wanted, some)
            for number in stale:
                counts[number] = fresh.get(found.segment_ids[number], 0)
        result = array("Q", (count or 0 for count in counts))
        if stale:
            self._store(process_id, wanted, found, result)
        return result

    def _cached(self, process_id: str, wanted: EventFilter) -> dict[tuple[int, int], int]:
        with self._lock:
            counted = self._counted.get((process_id, wanted))
            if counted is None:
                return {}
            self._counted.move_to_end((process_id, wanted))
        pairs = zip(counted.segment_ids, counted.totals, strict=True)
        return dict(zip(pairs, counted.counts, strict=True))

    def _store(
        self, process_id: str, wanted: EventFilter, found: SegmentCounts, counts: "array[int]"
    ) -> None:
        made = _Counted(array("Q", found.segment_ids), array("Q", found.totals), counts)
        with self._lock:
            self._counted[process_id, wanted] = made
            self._counted.move_to_end((process_id, wanted))
            while len(self._counted) > VIEW_COUNTS_MAX:
                self._counted.popitem(last=False)
