"""Reads one process: summary with relatives, segments, events
(docs/api-processes.md#searching-and-reading-processes).

For segment numbers, and errors for missing processes and segments, see `process_lookup.py`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vedette.limits import Limit
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import Childproc, ProcessEvent
from vedette.model.findings.tag import Tag, newest
from vedette.model.ids import MERGED_SEGMENT, names_process
from vedette.model.scope import Scope
from vedette.search.processes.process_columns import Row
from vedette.search.processes.process_lookup import (
    completed,
    process_row,
    unknown_process,
    with_parent,
)
from vedette.search.processes.suppressed_children import is_report_only, with_suppressed
from vedette.search.processes.suppression import Suppression
from vedette.store.engine.client import Engine
from vedette.store.read import process as stored
from vedette.store.read.detection.tags import tags_of_process, tags_of_segment
from vedette.store.read.process import SegmentSummary

IMAGES_MAX: Limit[int] = 50
"""Processes with the same pid and parent that are searched for the images of a process."""

SIBLINGS_MAX: Limit[int] = 15
"""Siblings in a process summary (docs/api-objects.md#limits-of-answers)."""


LISTED_KINDS: Final = tuple(kind for kind in EVENT_KINDS if kind.counted)


@dataclass(frozen=True, slots=True)
class Relative:
    """A sibling or child, and whether it counts as suppressed
    (docs/api-objects.md#process-events)."""

    row: Row
    is_suppressed: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """A process with its relatives."""

    row: Row
    """The process; its parent columns are filled from the parent's own row."""
    has_parent: bool
    """False if the parent's id is unknown; then `parent` is None."""
    parent: Row | None
    """Also None if nothing is stored about the parent or the caller may not see it."""
    siblings: Sequence[Relative]
    children: Sequence[Relative]


@dataclass(frozen=True, slots=True)
class Segments:
    """All segments of a process, the earliest first."""

    process_id: str
    segments: Sequence[SegmentSummary]
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class EventWindow:
    """A slice of a process's events in time order: `count` events from index `start`."""

    start: int
    count: int


@dataclass(frozen=True, slots=True)
class ProcessEvents:
    """A process with a slice of its events."""

    row: Row
    by_kind: Mapping[str, Sequence[ProcessEvent]]
    total: int
    """Number of all events of the process, or of the requested segment."""
    is_cut: bool
    """Whether the process has later events than these."""
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class FeedHits:
    """Hits of threat feeds on a process, or on one segment of it."""

    tags: Sequence[Tag]
    elapsed_s: float


def summary(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int,
    children_max: int,
    suppression: Suppression,
) -> Summary:
    """Returns the process with its parent, its first siblings and at most `children_max`
    children."""
    row = process_row(engine, scope, process_id, segment)
    parent_id = row["parent_id"] if names_process(row["parent_id"]) else ""
    parent: Row | None = None
    siblings: Sequence[Row] = ()
    if parent_id:
        parent = stored.cached_process_rows(engine, [parent_id], scope).get(parent_id)
        most = SIBLINGS_MAX
        siblings = stored.siblings_of(engine, process_id, parent_id, scope, limit=most)
    children: Sequence[Row] = ()
    if children_max:
        children = stored.children_of(engine, process_id, scope, limit=children_max)
        children = with_suppressed(engine, scope, row, children, children_max)
    return Summary(
        row=completed(row, parent),
        has_parent=bool(parent_id),
        parent=parent,
        siblings=[Relative(one, suppression.hides(one)) for one in siblings],
        children=[Relative(one, is_report_only(one) or suppression.hides(one)) for one in children],
    )


def flat_summary(engine: Engine, scope: Scope, process_id: str, segment: int) -> Row:
    """Returns the process alone, with its parent columns filled."""
    return with_parent(engine, scope, process_row(engine, scope, process_id, segment))


def images(engine: Engine, scope: Scope, row: Row) -> Sequence[Row]:
    """Returns the programs that one operating system process ran during its life, the earliest
    first, `row` included: an exec ends one stored process and begins the next with the same pid.
    Looks through at most `IMAGES_MAX` processes. Returns only `row` if no exec is recorded."""
    if not (names_process(row["parent_id"]) and row["start"] and row["process_pid"]):
        return [row]
    ids = stored.ids_of_pid(engine, row["parent_id"], row["process_pid"], scope, limit=IMAGES_MAX)
    others = [one for one in ids if one != row["process_id"]]
    known = stored.cached_process_rows(engine, others, scope).values()
    began = {one["start"]: one for one in known}
    ended = {one["end_time"]: one for one in known}
    chain = [row]
    while (before := ended.pop(chain[0]["start"], None)) is not None:
        chain.insert(0, before)
    while chain[-1]["terminated"] and (then := began.pop(chain[-1]["end_time"], None)) is not None:
        chain.append(then)
    return chain


def segments(engine: Engine, scope: Scope, process_id: str) -> Segments:
    """Returns all segments of a process. Raises NotFoundError."""
    began = time.perf_counter()
    found = stored.segments_of(engine, process_id, scope)
    if not found:
        raise unknown_process(engine, scope, process_id)
    return Segments(process_id, found, time.perf_counter() - began)


def threat_intel_hits(engine: Engine, scope: Scope, process_id: str, segment: int) -> FeedHits:
    """Returns the feed hits of a segment; segment 0 is the whole process. Raises NotFoundError."""
    began = time.perf_counter()
    row = process_row(engine, scope, process_id, segment)
    tags = (
        tags_of_process(engine, process_id)
        if segment == MERGED_SEGMENT
        else tags_of_segment(engine, (process_id, row["segment_id"]))
    )
    found = [tag for tag in newest(tags) if tag.family == "alliance"]
    return FeedHits(found, time.perf_counter() - began)


def events(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int,
    window: EventWindow,
    suppression: Suppression | None,
) -> ProcessEvents:
    """Returns the process with its events (docs/api-objects.md#process-events), in the order of
    docs/event-strings.md. With `suppression`, suppressed children are marked."""
    began = time.perf_counter()
    row, found = _with_events(engine, scope, process_id, segment, window)
    by_kind: dict[str, Sequence[ProcessEvent]] = dict(found.by_kind)
    if suppression is not None:
        children = [one for one in by_kind.get("childproc", ()) if isinstance(one, Childproc)]
        by_kind["childproc"] = suppression.mark(engine, scope, children)
    is_cut = window.start + window.count < found.total
    return ProcessEvents(row, by_kind, found.total, is_cut, time.perf_counter() - began)


def _with_events(
    engine: Engine, scope: Scope, process_id: str, segment: int, window: EventWindow
) -> tuple[Row, stored.Events]:
    """Returns the process with its parent columns filled, and its events. The two reads run in
    parallel for a whole process. For one segment, the events are read after its segment id."""

    def read(segment_id: int | None) -> stored.Events:
        return stored.events(
            engine,
            process_id,
            scope,
            segment_id=segment_id,
            kinds=LISTED_KINDS,
            start=window.start,
            count=window.count,
        )

    reading = engine.query_pool.submit(read, None) if segment == MERGED_SEGMENT else None
    row = process_row(engine, scope, process_id, segment)
    if reading is None:
        reading = engine.query_pool.submit(read, row["segment_id"])
    return with_parent(engine, scope, row), reading.result()
