"""Gives each draft its segment, and every segment of a process the best known metadata.

The registry remembers, for the processes of late, what is known of them and which segments
they have; what it has forgotten it reads back from the store. A process that enters a window
gets a partial row with all its metadata; later rows of that segment carry only what is new.
When better metadata arrives, the earlier segments get partial rows with nothing else.

Not thread-safe: whoever prepares owns it. When a commit fails, `forget` drops everything.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Protocol

from msgspec import Struct

from vedette.ingest.context.process_state import shared
from vedette.limits import SEGMENT_EVENTS_MAX
from vedette.model.columns import METADATA
from vedette.model.segment import Draft, PartialSegment
from vedette.model.tokens import cmdline_tokens
from vedette.pipeline.batch.parent_backfill import Parents, learned
from vedette.pipeline.batch.process_filter import ProcessFilter, ProcessHashes
from vedette.pipeline.time_windows import TimeWindows


class SegmentPlace(Struct, gc=False):
    """A segment that exists, and how many events it holds."""

    partition_ms: int
    window_ms: int
    segment_id: int
    event_count: int


class Placement(Struct):
    """What `Registry.place` found: rows to write, and who was met in a new window."""

    parts: list[PartialSegment]
    entered: list[PartialSegment]
    """Of the parts, the first of a process in a window."""


class Guide(ProcessHashes, Protocol):
    """What the store tells of processes."""

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        """Known metadata and segments, ordered by segment id, of those that have any."""


class _Known(Struct, gc=False):
    facts: dict[str, Any]
    places: list[SegmentPlace]
    """Every segment of the process, the newest last."""


_NOTHING: dict[str, Any] = {}

_TOKENS_OF = {"cmdline": "cmdline_tokens", "parent_cmdline": "parent_cmdline_tokens"}

_OF_ONE = frozenset(("process_guid", "parent_id", *_TOKENS_OF, *_TOKENS_OF.values()))
"""Texts that hardly two processes have in common."""

_OF_MANY = frozenset(one.name for one in METADATA if one.type == "text").difference(_OF_ONE)
"""Texts that repeat: each is remembered once, which saves an eighth of what a process takes."""


class Registry:
    """Processes of late, at most `capacity` of them."""

    def __init__(self, guide: Guide, capacity: int) -> None:
        self._guide = guide
        self._capacity = capacity
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._parents = Parents()
        self._unmounted: frozenset[int] = frozenset()
        self._heard_of = ProcessFilter(guide)

    def begin_empty(self) -> None:
        """Takes note that nothing is stored, and that nobody else stores: the guide is asked
        only about what was forgotten."""
        self._heard_of.begin_empty()

    def forget(self) -> None:
        """Drops what is remembered: it may speak of rows that were never stored."""
        self._heard_of.note(self._known)
        self._known.clear()
        self._parents.forget()

    def recall(self, process_ids: Iterable[str]) -> list[str]:
        """Makes sure that what the store knows of these processes is in memory; returns those
        that were not."""
        missing = [process_id for process_id in process_ids if process_id not in self._known]
        self._load(missing)
        for process_id in missing:
            self._known.setdefault(process_id, _Known({}, []))
        return missing

    def facts(self, process_id: str) -> dict[str, Any]:
        """What is known of a process as far as it is in memory: not to be changed."""
        known = self._known.get(process_id)
        return _NOTHING if known is None else known.facts

    def remember(self, process_id: str, told: dict[str, Any]) -> None:
        """Takes note of metadata that is not stored: of a process whose events are filtered."""
        known = self._known.setdefault(process_id, _Known({}, []))
        _learn(known.facts, told)

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        """Segments of these partitions get no late metadata: writing would bring them back."""
        before, self._unmounted = self._unmounted, frozenset(unmounted)
        if self._unmounted == before:
            return
        self._heard_of.begin_anew()
        self.forget()

    def place(
        self, drafts: dict[str, Draft], windows: TimeWindows, hosts: dict[int, dict[str, Any]]
    ) -> Placement:
        """Partial rows for the drafts. `hosts` gives the `columns.HOST` values by sensor id."""
        self._load([process_id for process_id in drafts if process_id not in self._known])
        placement = Placement([], [])
        for process_id, draft in drafts.items():
            known = self._known.get(process_id)
            if known is None:
                known = self._known[process_id] = _Known({}, [])
            else:
                self._known.move_to_end(process_id)
            self._learn_of_parent(draft, known.facts)
            news = _place(draft, known, windows, hosts[draft.sensor_id], placement)
            self._parents.note(process_id, draft.sensor_id, known.facts)
            self._teach_children(draft, news, known.facts, placement)
        while len(self._known) > self._capacity:
            forgotten, known = self._known.popitem(last=False)
            self._heard_of.note([forgotten])
            self._parents.drop(forgotten, known.facts)
        return placement

    def _learn_of_parent(self, draft: Draft, facts: dict[str, Any]) -> None:
        """Adds what is known of the parent to a draft that says which it is."""
        parent = self._known.get(draft.facts.get("parent_id", ""))
        if parent is not None:
            draft.facts.update(learned(parent.facts, facts, draft.facts))

    def _teach_children(
        self, draft: Draft, news: dict[str, Any], facts: dict[str, Any], placement: Placement
    ) -> None:
        """Adds rows with what became known of a process to all segments of its children."""
        for child_id in self._parents.waiting_for(draft.process_id, news):
            known = self._known[child_id]
            told = learned(facts, known.facts)
            known.facts.update(told)
            child = Draft(child_id, draft.sensor_id)
            if told:
                placement.parts += [_partial(child, place, dict(told)) for place in known.places]
            self._parents.note(child_id, child.sensor_id, known.facts)

    def _load(self, process_ids: list[str]) -> None:
        asked = self._heard_of.among(process_ids) if process_ids else []
        if not asked:
            return
        for process_id, (facts, places) in self._guide.processes(list(asked)).items():
            mounted = [place for place in places if place.partition_ms not in self._unmounted]
            self._known[process_id] = _Known(facts, mounted)


def _place(
    draft: Draft,
    known: _Known,
    windows: TimeWindows,
    host: dict[str, Any],
    placement: Placement,
) -> dict[str, Any]:
    """Adds the partial rows of one draft: late metadata for other segments, then its events.

    Returns what became known."""
    news = _learn(known.facts, draft.facts)
    newest = known.places[-1] if known.places else None
    current = newest if newest and newest.window_ms == windows.window_ms else None
    if news:
        for place in known.places:
            if place is not current:
                placement.parts.append(_partial(draft, place, dict(news)))
    # Of a process that was only mentioned, as the target of another, the start is all there is.
    last_update_us = draft.last_update_us or known.facts.get("start", 0)
    rest = draft.events
    while True:
        metadata = news
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
        placement.parts.append(part)
        if entered:
            placement.entered.append(part)
        if not rest:
            return news


def _learn(facts: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Merges what is told into the facts; returns what is new, with derived columns."""
    if not told:
        return {}
    news = {
        column: value
        for column, value in told.items()
        if value and (column not in facts or value > facts[column])
    }
    for column, tokens in _TOKENS_OF.items():
        if column in news:
            news[tokens] = cmdline_tokens(news[column])
    for column, value in news.items():
        facts[column] = shared(value) if column in _OF_MANY else value
    return news


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
