"""Cache of the number of events in each segment of a process that match a filter.

Counts of all events, and of whole kinds, are one cheap store query and are not cached. Other
filters read every event. A cached count is valid while the segment's total is the same, because
events are only ever added; only segments whose total has changed are counted again.
"""

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from vedette import limits
from vedette.model.event_facets import EventFilter
from vedette.model.scope import Scope
from vedette.search.streams.stream_cursor import EventSequence
from vedette.store.engine.client import Engine
from vedette.store.read.process_events import count_wanted
from vedette.store.read.segment_counts import Outline, outline

_WINDOWS_MAX = 1_000
"""Windows named in one store query; with more, all segments of the process are counted."""


@dataclass(frozen=True, slots=True)
class FilteredProcess:
    """The segments of a process and the events in them that match a filter."""

    outline: Outline
    sequence: EventSequence


@dataclass(frozen=True, slots=True)
class _Counted:
    """By segment: all events when it was counted, and those that matched."""

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
        """The process under a filter; None when it does not exist for this scope."""
        found = outline(engine, process_id, scope, wanted.kinds)
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
        self, engine: Engine, process_id: str, scope: Scope, wanted: EventFilter, found: Outline
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
            some = windows if len(windows) <= _WINDOWS_MAX else None
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
        self, process_id: str, wanted: EventFilter, found: Outline, counts: "array[int]"
    ) -> None:
        made = _Counted(array("Q", found.segment_ids), array("Q", found.totals), counts)
        with self._lock:
            self._counted[process_id, wanted] = made
            self._counted.move_to_end((process_id, wanted))
            while len(self._counted) > limits.VIEW_COUNTS_MAX:
                self._counted.popitem(last=False)
