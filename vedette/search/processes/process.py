"""Reading one process: summary with relatives, segments, events (api.md 4.1).

What a request may name, and what is answered when it does not exist, is in `not_found.py`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from vedette import limits
from vedette.model.columns import EVENT_KINDS
from vedette.model.event import Childproc, Modload, ProcessEvent
from vedette.model.ids import MERGED_SEGMENT, names_process
from vedette.model.scope import Scope
from vedette.search.bodies.events import EVENT_LISTS, EventVersion
from vedette.search.bodies.process import Body, Row, child_body, parent_body, process_body
from vedette.search.bodies.search_results import segments_body
from vedette.search.processes.not_found import completed, process_row, unknown_process, with_parent
from vedette.search.processes.suppressed_children import is_only_told, with_suppressed
from vedette.search.processes.suppression import Suppression
from vedette.store.engine.client import Engine
from vedette.store.engine.query_pool import submit
from vedette.store.read import process as stored

LISTED_KINDS: Final = tuple(kind for kind in EVENT_KINDS if kind.counted)

SUPPRESSION_SINCE: Final[EventVersion] = 3
"""The first form of events that tells suppressed children (api.md 2.6)."""

_BY_TIME: Final = attrgetter("time_us")


@dataclass(frozen=True, slots=True)
class EventWindow:
    """Which events of all are wanted: `count` of them from `start` on."""

    start: int
    count: int


def summary(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int,
    children_max: int,
    suppression: Suppression,
) -> Body:
    """The process with its parent, its first siblings and its children (v1)."""
    row = process_row(engine, scope, process_id, segment)
    parent_id = row["parent_id"] if names_process(row["parent_id"]) else ""
    parents = stored.process_rows(engine, [parent_id], scope) if parent_id else {}
    siblings = (
        stored.siblings_of(engine, process_id, parent_id, scope, limit=limits.SIBLINGS_MAX)
        if parent_id
        else []
    )
    children: Sequence[Row] = []
    if children_max:
        children = stored.children_of(engine, process_id, scope, limit=children_max)
        children = with_suppressed(engine, scope, row, children, children_max)
    known = completed(row, parents.get(parent_id))
    parent: Body = {}  # of whom nothing is known: clients stop there, and take no stand-in for one
    if parent_id:
        above = parents.get(parent_id)
        parent = process_body(above) if above is not None else parent_body(known)
    return {
        "process": process_body(known),
        "parent": parent,
        "siblings": [child_body(one, suppression.hides(one)) for one in siblings],
        "children": [
            child_body(one, is_only_told(one) or suppression.hides(one)) for one in children
        ],
    }


def flat_summary(engine: Engine, scope: Scope, process_id: str, segment: int) -> Body:
    """The process alone (v2)."""
    return process_body(with_parent(engine, scope, process_row(engine, scope, process_id, segment)))


def segments(engine: Engine, scope: Scope, process_id: str) -> Body:
    """All segments of a process, the earliest first."""
    began = time.perf_counter()
    found = stored.segments_of(engine, process_id, scope)
    if not found:
        raise unknown_process(process_id)
    return segments_body(process_id, found, time.perf_counter() - began)


def threat_intel_hits(engine: Engine, scope: Scope, process_id: str, segment: int) -> Body:
    """What feeds know of a process, by feed. There are no feeds yet, so nothing."""
    began = time.perf_counter()
    process_row(engine, scope, process_id, segment)
    return {"alliance_hits": {}, "elapsed": time.perf_counter() - began}


def events(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int,
    version: EventVersion,
    window: EventWindow,
    suppression: Suppression,
) -> Body:
    """The process with its lists of events (api.md 2.6); order: docs/event-strings.md."""
    began = time.perf_counter()
    row, found = _with_events(engine, scope, process_id, segment, window)
    by_kind: dict[str, Sequence[ProcessEvent]] = dict(found.by_kind)
    if version >= SUPPRESSION_SINCE:
        children = [one for one in by_kind.get("childproc", ()) if isinstance(one, Childproc)]
        by_kind["childproc"] = suppression.mark(engine, scope, children)
    body = process_body(row)
    body |= event_members(EVENT_LISTS[version], by_kind)
    body["binaries"] = _binaries(by_kind.get("modload", ()))
    return {"process": body, "elapsed": time.perf_counter() - began}


def _with_events(
    engine: Engine, scope: Scope, process_id: str, segment: int, window: EventWindow
) -> tuple[Row, stored.Events]:
    """The process, with what is known of its parent, and its events; both at once where the segment
    need not be found first."""

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

    reading = submit(read, None) if segment == MERGED_SEGMENT else None
    row = process_row(engine, scope, process_id, segment)
    if reading is None:
        reading = submit(read, row["segment_id"])
    return with_parent(engine, scope, row), reading.result()


def event_members(
    writers: Mapping[str, Any], by_kind: Mapping[str, Sequence[ProcessEvent]]
) -> Body:
    """The lists of events, each in order of time, and what they tell of the process as a whole."""
    lists: Body = {"block_type": _block_type(by_kind.get("processblock", ()))}
    for kind, write in writers.items():
        ordered = sorted(by_kind.get(kind, ()), key=_BY_TIME)
        lists[f"{kind}_complete"] = [write(event) for event in ordered]
    return lists


def _block_type(blocks: Sequence[ProcessEvent]) -> int:
    """1 when the host's isolation stopped the process (api.md 2.6), else 0."""
    return int(any(getattr(block, "block_type", 0) == ISOLATION for block in blocks))


ISOLATION: Final = 1
"""`Processblock.block_type` of a connection that an isolated host refused."""


def _binaries(modloads: Sequence[ProcessEvent]) -> Body:
    """Signatures by MD5 in upper case: clients that find them here ask for no binary each."""
    return {
        event.md5.upper(): {
            "digsig_result": event.digsig_result,
            "digsig_publisher": event.digsig_publisher,
        }
        for event in modloads
        if isinstance(event, Modload) and event.md5 and event.digsig_result
    }
