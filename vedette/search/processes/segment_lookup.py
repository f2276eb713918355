"""Reads segments of a process in batches, and checks whether a segment exists or a child was
suppressed (docs/api-objects.md#process-events)."""

import time
from dataclasses import dataclass
from itertools import count, takewhile

from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.search.processes.process import Segments
from vedette.search.processes.process_lookup import unknown_process
from vedette.search.processes.suppression import NOTHING_SUPPRESSED, Suppression
from vedette.search.streams.stream_cursor import EventSequence
from vedette.store.engine.client import Engine
from vedette.store.read.process import segments_of
from vedette.store.read.process_events import names_child
from vedette.store.read.relatives import facts_of
from vedette.store.read.segment_counts import SegmentCounts, load_segment_counts, present_segment

SEGMENTS_A_LINE: Limit[int] = 500
"""Segments in one line of the ndjson response: about 150 kB."""


@dataclass(frozen=True, slots=True)
class SegmentBatch:
    """Segment ids from `first` to `last`, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class SuppressionCheck:
    """Whether a child was suppressed; also False if the check timed out."""

    is_suppressed: bool
    is_timed_out: bool


def verified_segment(engine: Engine, scope: Scope, process_id: str, segment: int) -> int:
    """Returns `segment` if the process has it, else the id of its earliest segment.

    Raises NotFoundError.
    """
    return _present(engine, scope, process_id, segment)


def segment_batches(
    engine: Engine, scope: Scope, process_id: str, segment: int
) -> list[SegmentBatch]:
    """Returns the segments from `segment` on, the earliest first, in batches of `SEGMENTS_A_LINE`.

    Raises NotFoundError.
    """
    found = _segment_counts(engine, scope, process_id)
    first = EventSequence(process_id, found.segment_ids, ()).segment_id(segment)
    ids = [segment_id for segment_id in found.segment_ids if segment_id >= first]
    batches = (ids[at : at + SEGMENTS_A_LINE] for at in count(0, SEGMENTS_A_LINE))
    return [SegmentBatch(one[0], one[-1]) for one in takewhile(bool, batches)]


def read_batch(engine: Engine, scope: Scope, process_id: str, batch: SegmentBatch) -> Segments:
    """Reads the segments of a batch that exist now."""
    began = time.perf_counter()
    found = segments_of(engine, process_id, scope, first=batch.first, last=batch.last)
    return Segments(process_id, found, time.perf_counter() - began)


def suppression(
    engine: Engine,
    scope: Scope,
    parent_id: str,
    child_id: str,
    child_md5: str,
    timeout_s: float,
    suppressed: Suppression = NOTHING_SUPPRESSED,
) -> SuppressionCheck:
    """Checks whether a child named in its parent's events has no records of its own, or records
    that its group suppresses. `child_md5` "" accepts any hash. Raises NotFoundError for an unknown
    parent.
    """
    try:
        end_s = time.monotonic() + timeout_s
        _present(engine, scope, parent_id, deadline_s=timeout_s)
        child = present_segment(engine, child_id, 0, scope, deadline_s=_left(end_s))
        is_suppressed = child is None
        if is_suppressed:
            is_suppressed = names_child(
                engine, parent_id, scope, child_id, child_md5, deadline_s=_left(end_s)
            )
        elif suppressed.groups:
            row = facts_of(engine, [child_id], scope).get(child_id)
            is_suppressed = row is not None and suppressed.hides(row)
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        return SuppressionCheck(is_suppressed=False, is_timed_out=True)
    return SuppressionCheck(is_suppressed, is_timed_out=False)


def _left(end_s: float) -> float:
    left_s = end_s - time.monotonic()
    if left_s <= 0:
        raise UnavailableError("the check exceeded its time limit", reason="deadline")
    return left_s


def _present(
    engine: Engine,
    scope: Scope,
    process_id: str,
    segment: int = 0,
    *,
    deadline_s: float | None = None,
) -> int:
    present = present_segment(engine, process_id, segment, scope, deadline_s=deadline_s)
    if present is None:
        raise unknown_process(engine, scope, process_id)
    return present


def _segment_counts(engine: Engine, scope: Scope, process_id: str) -> SegmentCounts:
    found = load_segment_counts(engine, process_id, scope)
    if found is None:
        raise unknown_process(engine, scope, process_id)
    return found
