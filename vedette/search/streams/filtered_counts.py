"""How many events each segment of a process holds in a view, and what is remembered of that.

Counts of all events, and of whole kinds, are one cheap question. Other filters have to
look at every event, so their counts are remembered; a segment whose number of events has
changed is counted again, and no other: events are only ever added. So what is remembered is never
wrong, and a server that has never seen a view only takes longer.
"""

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from vedette import limits
from vedette.model.event_facets import EventFilter
from vedette.model.scope import Scope
from vedette.search.streams.stream_cursor import Track
from vedette.store.engine.client import Engine
from vedette.store.read.process_events import count_wanted
from vedette.store.read.segment_counts import Outline, outline

_WINDOWS_MAX = 1_000
"""Windows that a question names; for more it asks about all of the process."""


@dataclass(frozen=True, slots=True)
class View:
    """A process as one filter shows it."""

    outline: Outline
    track: Track


@dataclass(frozen=True, slots=True)
class _Counted:
    """Segments, how many events they had in all, and how many of those were wanted."""

    segment_ids: "array[int]"
    totals: "array[int]"
    counts: "array[int]"


class Views:
    """Views of late, at most `VIEW_COUNTS_MAX`. Safe to share between threads."""

    def __init__(self) -> None:
        self._counted: OrderedDict[tuple[str, EventFilter], _Counted] = OrderedDict()
        self._lock = Lock()

    def view(
        self, engine: Engine, process_id: str, scope: Scope, wanted: EventFilter
    ) -> View | None:
        """What a filter shows of a process; None when there is none to see."""
        found = outline(engine, process_id, scope, wanted.kinds)
        if found is None:
            return None
        counts = found.chosen
        if not wanted.asks_only_for_kinds:
            counts = self._counts(engine, process_id, scope, wanted, found)
        ids, is_terminated = found.segment_ids, found.is_terminated
        return View(found, Track.of_counts(process_id, ids, counts, is_terminated))

    def _counts(
        self, engine: Engine, process_id: str, scope: Scope, wanted: EventFilter, found: Outline
    ) -> "array[int]":
        known = self._known(process_id, wanted)
        counts: list[int | None] = [
            0 if not chosen else known.get((segment_id, total))
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
        kept = array("Q", (count or 0 for count in counts))
        if stale:
            self._remember(process_id, wanted, found, kept)
        return kept

    def _known(self, process_id: str, wanted: EventFilter) -> dict[tuple[int, int], int]:
        with self._lock:
            counted = self._counted.get((process_id, wanted))
            if counted is None:
                return {}
            self._counted.move_to_end((process_id, wanted))
        pairs = zip(counted.segment_ids, counted.totals, strict=True)
        return dict(zip(pairs, counted.counts, strict=True))

    def _remember(
        self, process_id: str, wanted: EventFilter, found: Outline, counts: "array[int]"
    ) -> None:
        made = _Counted(array("Q", found.segment_ids), array("Q", found.totals), counts)
        with self._lock:
            self._counted[process_id, wanted] = made
            self._counted.move_to_end((process_id, wanted))
            while len(self._counted) > limits.VIEW_COUNTS_MAX:
                self._counted.popitem(last=False)
