"""Assigns each draft to a segment, and gives every segment of a process its best metadata.

Metadata and segments of recent processes are cached; a miss is read back from the store. The first
partial row of a process in a window carries all its metadata, later rows only what changed. Late
metadata is added to earlier segments by partial rows without events. The engine merges those by
`max`; where the metadata with the better rank (`model/metadata_rank.py`) is a smaller value, a
`Correction` is made as well.

Not thread-safe: owned by one ingest worker. When a commit fails, `reset` drops the cache.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Protocol

from msgspec import Struct, field

from vedette.ingest.context.process_state import interned
from vedette.limits import SEGMENT_EVENTS_MAX
from vedette.model.columns import METADATA
from vedette.model.ids import sensor_of, slot_of
from vedette.model.metadata_rank import (
    RANK_COLUMN_OF,
    RANK_COLUMNS,
    TOKENS_OF,
    merge_ranked,
    withdrawn,
)
from vedette.model.segment import Correction, Draft, PartialSegment
from vedette.model.tokens import cmdline_tokens
from vedette.pipeline.batch.parent_backfill import ParentBackfill, backfill
from vedette.pipeline.batch.process_filter import ProcessFilter, ProcessHashes
from vedette.pipeline.time_windows import TimeWindows


class SegmentPlace(Struct, gc=False):
    """A stored segment, and how many events it holds."""

    partition_ms: int
    window_ms: int
    segment_id: int
    event_count: int


class AssignedRows(Struct):
    """Rows to write. `entered` are those of `parts` that are the first of their process in a
    window."""

    parts: list[PartialSegment]
    entered: list[PartialSegment]
    corrections: list[Correction] = field(default_factory=list)


class ProcessLookup(ProcessHashes, Protocol):
    """Lookup of stored processes."""

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        """Known metadata and segments, ordered by segment id, of those that have any."""


class _CachedProcess(Struct, gc=False):
    facts: dict[str, Any]
    places: list[SegmentPlace]
    """Every segment of the process, the newest last."""
    is_corrected: bool = False
    """Whether a stored value was replaced by a smaller one: from then on plain rows may lose
    against what is stored, and every change is a correction too."""


_EMPTY: dict[str, Any] = {}

_UNIQUE = frozenset(("process_guid", "parent_id", *TOKENS_OF, *TOKENS_OF.values()))
"""Texts that hardly two processes have in common."""

_INTERNED = frozenset(one.name for one in METADATA if one.type == "text").difference(_UNIQUE)
"""Texts that repeat over processes: one object each saves an eighth of the cache's memory."""

_SNAPSHOT = (*RANK_COLUMN_OF, *RANK_COLUMNS)
"""What a correction carries."""


class SegmentAssigner:
    """LRU cache of processes, at most `capacity` of them, and their assignment to segments."""

    def __init__(self, lookup: ProcessLookup, capacity: int) -> None:
        self._lookup = lookup
        self._capacity = capacity
        self._known: OrderedDict[str, _CachedProcess] = OrderedDict()
        self._parents = ParentBackfill()
        self._unmounted: frozenset[int] = frozenset()
        self._process_filter = ProcessFilter(lookup)

    def begin_empty(self) -> None:
        """Declares the store empty and this the only writer: only evicted processes are looked
        up."""
        self._process_filter.begin_empty()

    def reset(self) -> None:
        """Drops the cache: it may describe rows that were never stored."""
        self._process_filter.note(self._known)
        self._known.clear()
        self._parents.reset()

    def forget_slots(self, slots: frozenset[int]) -> None:
        """Drops the processes of sensors in these slots."""
        for process_id in [one for one in self._known if slot_of(sensor_of(one) or 0) in slots]:
            known = self._known.pop(process_id)
            self._parents.drop(process_id, known.facts)

    def recall(self, process_ids: Iterable[str]) -> list[str]:
        """Loads these processes into the cache; returns those that were not in it."""
        missing = [process_id for process_id in process_ids if process_id not in self._known]
        self._load(missing)
        for process_id in missing:
            self._known.setdefault(process_id, _CachedProcess({}, []))
        return missing

    def facts(self, process_id: str) -> dict[str, Any]:
        """Cached metadata of a process, empty on a miss: not to be changed."""
        known = self._known.get(process_id)
        return _EMPTY if known is None else known.facts

    def newest_segment(self, process_id: str) -> int:
        """Id of the newest segment of a cached process, 0 where nothing is stored of it."""
        known = self._known.get(process_id)
        return known.places[-1].segment_id if known is not None and known.places else 0

    def cache_claims(self, process_id: str, claims: dict[str, Any]) -> None:
        """Caches metadata that is not stored: of a process whose events are filtered. `claims` have
        rank columns."""
        known = self._known.setdefault(process_id, _CachedProcess({}, []))
        _learn(known.facts, claims)

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        """Segments of these partitions get no late metadata: a row would re-create them."""
        before, self._unmounted = self._unmounted, frozenset(unmounted)
        if self._unmounted == before:
            return
        self._process_filter.begin_anew()
        self.reset()

    def place(
        self, drafts: dict[str, Draft], windows: TimeWindows, hosts: dict[int, dict[str, Any]]
    ) -> AssignedRows:
        """Partial rows for the drafts. `hosts` gives the `columns.HOST` values by sensor id."""
        self._load([process_id for process_id in drafts if process_id not in self._known])
        assigned = AssignedRows([], [])
        for process_id, draft in drafts.items():
            known = self._known.get(process_id)
            if known is None:
                known = self._known[process_id] = _CachedProcess({}, [])
            else:
                self._known.move_to_end(process_id)
            self._complete_from_parent(draft, known.facts)
            changed = _place(draft, known, windows, hosts[draft.sensor_id], assigned)
            self._parents.note(process_id, draft.sensor_id, known.facts)
            self._backfill_children(draft, changed, known.facts, assigned)
        while len(self._known) > self._capacity:
            evicted, known = self._known.popitem(last=False)
            self._process_filter.note([evicted])
            self._parents.drop(evicted, known.facts)
        return assigned

    def _complete_from_parent(self, draft: Draft, facts: dict[str, Any]) -> None:
        """Completes a draft that names a cached parent with the parent's metadata."""
        parent = self._known.get(draft.facts.get("parent_id", ""))
        if parent is not None:
            draft.facts.update(backfill(parent.facts, facts, draft.facts))

    def _backfill_children(
        self, draft: Draft, changed: dict[str, Any], facts: dict[str, Any], assigned: AssignedRows
    ) -> None:
        """Backfills the changed metadata of a process into all segments of its children."""
        for child_id in self._parents.waiting_for(draft.process_id, changed):
            known = self._known[child_id]
            copied = backfill(facts, known.facts)
            known.facts.update(copied)
            child = Draft(child_id, draft.sensor_id)
            if copied:
                assigned.parts += [_partial(child, place, dict(copied)) for place in known.places]
            self._parents.note(child_id, child.sensor_id, known.facts)

    def _load(self, process_ids: list[str]) -> None:
        asked = self._process_filter.among(process_ids) if process_ids else []
        if not asked:
            return
        for process_id, (facts, places) in self._lookup.processes(list(asked)).items():
            mounted = [place for place in places if place.partition_ms not in self._unmounted]
            self._known[process_id] = _CachedProcess(facts, mounted)


def _place(
    draft: Draft,
    known: _CachedProcess,
    windows: TimeWindows,
    host: dict[str, Any],
    assigned: AssignedRows,
) -> dict[str, Any]:
    """Adds the partial rows of one draft: late metadata for other segments, then its events.

    Returns the changed columns."""
    stored = dict(known.facts) if known.places and draft.facts else {}
    changed = _learn(known.facts, draft.facts)
    if stored and changed:
        _correct(draft, known, stored, changed, assigned)
    newest = known.places[-1] if known.places else None
    current = newest if newest and newest.window_ms == windows.window_ms else None
    if changed:
        for place in known.places:
            if place is not current:
                assigned.parts.append(_partial(draft, place, dict(changed)))
    # Of a process that was only mentioned, as the target of another, the start is all there is.
    last_update_us = draft.last_update_us or known.facts.get("start", 0)
    rest = draft.events
    while True:
        metadata = changed
        entered = current is None
        if current is None or (rest and current.event_count >= SEGMENT_EVENTS_MAX):
            number = current.segment_id + 1 if current else windows.window_ms
            current = SegmentPlace(windows.partition_ms, windows.window_ms, number, 0)
            known.places.append(current)
            metadata = {**host, **known.facts}
        taken, rest = _take(rest, SEGMENT_EVENTS_MAX - current.event_count)
        part = _partial(draft, current, {**metadata, "last_update": last_update_us})
        part.events = taken
        current.event_count += part.event_count()
        # All rows of a record are one insert: its keys in one of them are enough.
        part.record_keys, draft.record_keys = draft.record_keys, []
        part.request_keys, draft.request_keys = draft.request_keys, []
        assigned.parts.append(part)
        if entered:
            assigned.entered.append(part)
        if not rest:
            return changed


def _correct(
    draft: Draft,
    known: _CachedProcess,
    stored: dict[str, Any],
    changed: dict[str, Any],
    assigned: AssignedRows,
) -> None:
    """Adds corrections of the stored segments when a column changed to a smaller value."""
    known.is_corrected = known.is_corrected or any(
        column in RANK_COLUMN_OF and column in stored and value < stored[column]
        for column, value in changed.items()
    )
    if not known.is_corrected or RANK_COLUMN_OF.keys().isdisjoint(changed):
        return
    facts = known.facts
    values = {column: facts.get(column) or withdrawn(column) for column in _SNAPSHOT}
    windows: dict[int, list[int]] = {}
    for place in known.places:
        windows.setdefault(place.partition_ms, []).append(place.window_ms)
    assigned.corrections += [
        Correction(partition_ms, draft.sensor_id, draft.process_id, sorted(set(some)), values)
        for partition_ms, some in windows.items()
    ]


def _learn(facts: dict[str, Any], claims: dict[str, Any]) -> dict[str, Any]:
    """Merges claims into the facts; returns the changed columns, derived ones included."""
    if not claims:
        return {}
    changed = merge_ranked(facts, claims)
    for column, tokens in TOKENS_OF.items():
        if column in changed:
            changed[tokens] = cmdline_tokens(changed[column])
    for column, value in changed.items():
        if value:
            facts[column] = interned(value) if column in _INTERNED else value
        else:
            facts.pop(column, None)
    return changed


def _take(
    events: dict[str, list[Any]], room: int
) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The first `room` events, in order of kind, and the rest."""
    if sum(map(len, events.values())) <= room:
        return events, {}
    taken: dict[str, list[Any]] = {}
    rest: dict[str, list[Any]] = {}
    for kind, values in events.items():
        if room:
            taken[kind] = values[:room]
        if values[room:]:
            rest[kind] = values[room:]
        room = max(0, room - len(values))
    return taken, rest


def _partial(draft: Draft, place: SegmentPlace, metadata: dict[str, Any]) -> PartialSegment:
    return PartialSegment(
        place.partition_ms,
        place.window_ms,
        place.segment_id,
        draft.sensor_id,
        draft.process_id,
        metadata,
        {},
        [],
        [],
    )
