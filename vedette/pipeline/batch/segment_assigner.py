"""Assigns drafts to segments, and stores the best metadata of a process in each of its segments.

The metadata and segments of recent processes are cached; a miss is read from the store. The first
partial row of a process in a window has all its metadata, later rows only the changes. Late
metadata is added to earlier segments by partial rows without events. Columns that are decided by
rank (`model/metadata_rank.py`) are written as whole groups, so that the engine's merge keeps the
best claim.

Not thread-safe: owned by one ingest worker. When a commit fails, `reset` drops the cache.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Protocol

from msgspec import Struct

from vedette.ingest.context.process_state import interned
from vedette.limits import Limit
from vedette.model.columns import METADATA
from vedette.model.ids import sensor_of, slot_of
from vedette.model.metadata_rank import (
    RANK_COLUMNS,
    TOKENS_OF,
    merge_ranked,
    raise_ranks,
    whole_claims,
)
from vedette.model.segment import Draft, PartialSegment
from vedette.model.tokens import cmdline_tokens
from vedette.pipeline.batch.parent_backfill import ParentBackfill, backfill
from vedette.pipeline.batch.process_filter import ProcessFilter, ProcessHashes
from vedette.pipeline.time_windows import TimeWindows

SEGMENT_EVENTS_MAX: Limit[int] = 10_000
"""Maximum events of one segment, after which the next segment of the window begins. Equals the
default limit of the `/event` routes (`CoreServicesMaxEventResultsPerProcess`)."""


class SegmentPlace(Struct, gc=False):
    """Location of a stored segment, and its number of events."""

    partition_ms: int
    window_ms: int
    segment_id: int
    event_count: int


class AssignedRows(Struct):
    """Rows to write. `entered` has the rows of `parts` that are the first of their process in a
    window."""

    parts: list[PartialSegment]
    entered: list[PartialSegment]


class ProcessLookup(ProcessHashes, Protocol):
    """Lookup of stored processes by id."""

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        """Maps process id to (metadata, segments ordered by segment id); omits unknown
        processes."""


class _CachedProcess(Struct, gc=False):
    facts: dict[str, Any]
    places: list[SegmentPlace]
    """All segments of the process, the newest last."""


_EMPTY: dict[str, Any] = {}

_UNIQUE = frozenset(("process_guid", "parent_id", *TOKENS_OF, *TOKENS_OF.values()))
"""Columns whose strings are nearly unique per process."""

_INTERNED = frozenset(one.name for one in METADATA if one.type == "text").difference(_UNIQUE)
"""Columns whose strings repeat between processes. Interning them saves 1/8 of the cache's
memory."""


class SegmentAssigner:
    """LRU cache of at most `capacity` processes, and their assignment to segments."""

    def __init__(self, lookup: ProcessLookup, capacity: int) -> None:
        self._lookup = lookup
        self._capacity = capacity
        self._known: OrderedDict[str, _CachedProcess] = OrderedDict()
        self._parents = ParentBackfill()
        self._unmounted: frozenset[int] = frozenset()
        self._process_filter = ProcessFilter(lookup)

    def begin_empty(self) -> None:
        """Declares that the store is empty and this is the only writer, so that only evicted
        processes are looked up."""
        self._process_filter.begin_empty()

    def reset(self) -> None:
        """Drops the cache, because it may describe rows that were never stored."""
        self._process_filter.note(self._known)
        self._known.clear()
        self._parents.reset()

    def forget_slots(self, slots: frozenset[int]) -> None:
        """Drops the cached processes of sensors in these slots."""
        for process_id in [one for one in self._known if slot_of(sensor_of(one) or 0) in slots]:
            known = self._known.pop(process_id)
            self._parents.drop(process_id, known.facts)

    def recall(self, process_ids: Iterable[str]) -> list[str]:
        """Loads processes into the cache. Returns those that were not cached."""
        missing = [process_id for process_id in process_ids if process_id not in self._known]
        self._load(missing)
        for process_id in missing:
            self._known.setdefault(process_id, _CachedProcess({}, []))
        return missing

    def facts(self, process_id: str) -> dict[str, Any]:
        """Returns the cached metadata of a process, which callers must not change; empty on a
        miss."""
        known = self._known.get(process_id)
        return _EMPTY if known is None else known.facts

    def newest_segment(self, process_id: str) -> int:
        """Returns the id of the newest segment of a cached process; 0 if it has no stored
        segment."""
        known = self._known.get(process_id)
        return known.places[-1].segment_id if known is not None and known.places else 0

    def cache_claims(self, process_id: str, claims: dict[str, Any]) -> None:
        """Caches metadata that is not stored, because the events of its process are filtered.
        `claims` have rank columns."""
        known = self._known.setdefault(process_id, _CachedProcess({}, []))
        before = _ranks(known.facts)
        raise_ranks(known.facts, _learn(known.facts, claims), before)

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        """Excludes segments of these partitions from late metadata, since a row would re-create the
        partition."""
        before, self._unmounted = self._unmounted, frozenset(unmounted)
        if self._unmounted == before:
            return
        self._process_filter.begin_anew()
        self.reset()

    def place(
        self, drafts: dict[str, Draft], windows: TimeWindows, hosts: dict[int, dict[str, Any]]
    ) -> AssignedRows:
        """Returns partial rows for the drafts. `hosts` maps sensor id to the `columns.HOST`
        values."""
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
        """Adds a cached parent's metadata to a draft that names the parent."""
        parent = self._known.get(draft.facts.get("parent_id", ""))
        if parent is not None:
            draft.facts.update(backfill(parent.facts, facts, draft.facts))

    def _backfill_children(
        self, draft: Draft, changed: dict[str, Any], facts: dict[str, Any], assigned: AssignedRows
    ) -> None:
        """Copies changed metadata of a process into all segments of its children."""
        for child_id in self._parents.waiting_for(draft.process_id, changed):
            known = self._known[child_id]
            copied = backfill(facts, known.facts)
            before = _ranks(known.facts)
            known.facts.update(copied)
            child = Draft(child_id, draft.sensor_id)
            if copied:
                late = whole_claims(known.facts, copied, before)
                assigned.parts += [_partial(child, place, dict(late)) for place in known.places]
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
    before = _ranks(known.facts) if draft.facts else _EMPTY
    changed = _learn(known.facts, draft.facts)
    late = whole_claims(known.facts, changed, before) if changed else {}
    newest = known.places[-1] if known.places else None
    current = newest if newest and newest.window_ms == windows.window_ms else None
    if late:
        for place in known.places:
            if place is not current:
                assigned.parts.append(_partial(draft, place, dict(late)))
    # A process that is only the target of another process has no time but its start.
    last_update_us = draft.last_update_us or known.facts.get("start", 0)
    # A host's time zone may be reported after the segment began.
    clock = {"host_clock": host["host_clock"]} if host.get("host_clock") else {}
    rest = draft.events
    while True:
        metadata = late
        entered = current is None
        if current is None or (rest and current.event_count >= SEGMENT_EVENTS_MAX):
            number = current.segment_id + 1 if current else windows.window_ms
            current = SegmentPlace(windows.partition_ms, windows.window_ms, number, 0)
            known.places.append(current)
            metadata = {**host, **known.facts}
        taken, rest = _take(rest, SEGMENT_EVENTS_MAX - current.event_count)
        part = _partial(draft, current, {**metadata, **clock, "last_update": last_update_us})
        part.events = taken
        current.event_count += part.event_count()
        # All rows of a record are in one insert, so one row with its keys suffices.
        part.record_keys, draft.record_keys = draft.record_keys, []
        part.request_keys, draft.request_keys = draft.request_keys, []
        assigned.parts.append(part)
        if entered:
            assigned.entered.append(part)
        if not rest:
            return changed


def _ranks(facts: dict[str, Any]) -> dict[str, Any]:
    """Returns the stored ranks of a process."""
    return {column: facts[column] for column in RANK_COLUMNS if column in facts}


def _learn(facts: dict[str, Any], claims: dict[str, Any]) -> dict[str, Any]:
    """Merges claims into the facts. Returns the changed columns, including derived columns."""
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
    """Splits the events, in order of kind, into the first `room` and the rest."""
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
