"""Reading one process: summary with relatives, segments, events (api.md 4.1).

Segment numbers in a request: 0 is the process over all its segments, 1 its earliest segment, any
other number that segment (`model/ids.py`). A process that does not exist and one outside the
caller's scope are the same answer, NotFoundError.
"""

import time
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from vedette import limits
from vedette.errors import NotFoundError
from vedette.model.columns import EVENT_KINDS
from vedette.model.ids import EARLIEST_SEGMENT, MERGED_SEGMENT
from vedette.model.scope import Scope
from vedette.search.events_wire import EVENT_LISTS, EventVersion
from vedette.search.process_body import Body, child_body, parent_body, process_body
from vedette.search.responses import segments_body
from vedette.store import process as stored
from vedette.store.engine import Engine

LISTED_KINDS: Final = tuple(kind for kind in EVENT_KINDS if kind.counted)

_BY_TIME: Final = attrgetter("time_us")


@dataclass(frozen=True, slots=True)
class EventWindow:
    """Which events of all are wanted: `count` of them from `start` on."""

    start: int
    count: int


def summary(engine: Engine, scope: Scope, process_id: str, segment: int, children_max: int) -> Body:
    """The process with its parent, its first siblings and its children (v1)."""
    row = _row(engine, scope, process_id, segment)
    parent_id = row["parent_id"]
    parents = stored.process_rows(engine, [parent_id], scope) if parent_id else {}
    siblings = (
        stored.siblings_of(engine, process_id, parent_id, scope, limit=limits.SIBLINGS_MAX)
        if parent_id
        else []
    )
    children = (
        stored.children_of(engine, process_id, scope, limit=children_max) if children_max else []
    )
    return {
        "process": process_body(row),
        "parent": process_body(parents[parent_id]) if parent_id in parents else parent_body(row),
        "siblings": [child_body(sibling) for sibling in siblings],
        "children": [child_body(child) for child in children],
    }


def flat_summary(engine: Engine, scope: Scope, process_id: str, segment: int) -> Body:
    """The process alone (v2)."""
    return process_body(_row(engine, scope, process_id, segment))


def segments(engine: Engine, scope: Scope, process_id: str) -> Body:
    """All segments of a process, the earliest first."""
    began = time.perf_counter()
    found = stored.segments_of(engine, process_id, scope)
    if not found:
        raise _unknown(process_id)
    return segments_body(process_id, found, time.perf_counter() - began)


def events(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int,
    version: EventVersion,
    window: EventWindow,
) -> Body:
    """The process with its lists of events (api.md 2.6); order: docs/event-strings.md."""
    began = time.perf_counter()
    row = _row(engine, scope, process_id, segment)
    found = stored.events(
        engine,
        process_id,
        scope,
        segment_id=None if segment == MERGED_SEGMENT else row["segment_id"],
        kinds=LISTED_KINDS,
        start=window.start,
        count=window.count,
    )
    lists: dict[str, list[Any]] = {}
    for kind, write in EVENT_LISTS[version].items():
        ordered = sorted(found.by_kind.get(kind, ()), key=_BY_TIME)
        lists[f"{kind}_complete"] = [write(event) for event in ordered]
    body = process_body(row) | {"block_type": 0} | lists
    return {"process": body, "elapsed": time.perf_counter() - began}


def _row(engine: Engine, scope: Scope, process_id: str, segment: int) -> dict[str, Any]:
    """The process as one segment has it, or as all of them together do."""
    if segment not in (MERGED_SEGMENT, EARLIEST_SEGMENT):
        row = stored.segment_row(engine, process_id, segment, scope)
        if row is None:
            raise _unknown(process_id)
        return row
    whole = stored.process_row(engine, process_id, scope)
    if whole is None:
        raise _unknown(process_id)
    if segment == MERGED_SEGMENT:
        return whole
    return _row(engine, scope, process_id, whole["first_segment_id"])


def _unknown(process_id: str) -> NotFoundError:
    return NotFoundError(f"there is no process {process_id[:60]!r}, or no such segment of it")
