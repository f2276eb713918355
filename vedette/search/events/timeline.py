"""The timeline of a process: the number of events of each type in each interval.

Intervals are aligned to the epoch in UTC, so the timelines of two processes can be compared.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from vedette import limits
from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.model.scope import Scope
from vedette.search.processes.process_lookup import unknown_process
from vedette.store.engine.client import Engine
from vedette.store.read.event_timeline import KINDS, Bucket, Span, count_events, span_of_events
from vedette.store.read.relatives import facts_of

TIMELINE_BUCKETS_MAX: Limit[int] = 10_000
"""Intervals between the first and the last event of a timeline: more than the pixels of a chart."""

TIMELINE_BUCKETS_AIM: Limit[int] = 300
"""Target number of intervals when the request gives no interval length."""


SECOND_US: Final = 1_000_000

_NICE_S: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
"""Interval lengths to choose from, in seconds."""
_EVER_US: Final = (1 << 63) - 1
_EPOCH: Final = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class TimelineRequest:
    """Parameters of a timeline. Times are epoch microseconds; None if not given."""

    interval_s: int | None = None
    start_us: int | None = None
    end_us: int | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Event counts of a process."""

    process_id: str
    interval_s: int
    span: Span | None
    """Times of the first and the last event; None without events."""
    buckets: Sequence[Bucket]
    """Ordered by step, then kind. A step is the number of an interval since the epoch."""
    elapsed_s: float


def timeline(engine: Engine, scope: Scope, process_id: str, request: TimelineRequest) -> Timeline:
    """Counts the events. Raises NotFoundError, and BadRequestError for an interval that makes more
    than `TIMELINE_BUCKETS_MAX` steps."""
    began = time.perf_counter()
    within = _within(request)
    interval_s = request.interval_s
    if interval_s is None:
        span = span_of_events(engine, process_id, scope, within)
        interval_s = _fitting(span) if span is not None else 1
    step_us = interval_s * SECOND_US
    most = TIMELINE_BUCKETS_MAX * len(KINDS)
    found = count_events(engine, process_id, scope, within, step_us, limit=most + 1)
    if not found and process_id not in facts_of(engine, [process_id], scope):
        raise unknown_process(engine, scope, process_id)
    span = _span(found)
    if len(found) > most:
        span = span_of_events(engine, process_id, scope, within)
    if span is not None:
        _check(span, interval_s)
    return Timeline(process_id, interval_s, span, found, time.perf_counter() - began)


def _span(found: Sequence[Bucket]) -> Span | None:
    if not found:
        return None
    first_us = min(bucket.span.first_us for bucket in found)
    return Span(first_us, max(bucket.span.last_us for bucket in found))


def _within(request: TimelineRequest) -> Span:
    within = Span(request.start_us or 0, _EVER_US if request.end_us is None else request.end_us)
    if within.first_us > within.last_us:
        raise BadRequestError("start: must not be after end")
    return within


def _steps(span: Span, interval_s: int) -> int:
    step_us = interval_s * SECOND_US
    return span.last_us // step_us - span.first_us // step_us + 1


def _fitting(span: Span) -> int:
    """Returns the shortest length in `_NICE_S` that divides the span into at most
    `TIMELINE_BUCKETS_AIM` steps."""
    fitting = (one for one in _NICE_S if _steps(span, one) <= TIMELINE_BUCKETS_AIM)
    return next(fitting, limits.TIMELINE_INTERVAL_S_MAX)


def _check(span: Span, interval_s: int) -> None:
    steps = _steps(span, interval_s)
    if steps > TIMELINE_BUCKETS_MAX:
        raise BadRequestError(
            f"interval: {interval_s}s makes {steps} intervals from "
            f"{_utc(span.first_us)} to {_utc(span.last_us)} (limit "
            f"{TIMELINE_BUCKETS_MAX}); use a longer interval or set start and end"
        )


def _utc(time_us: int) -> str:
    moment = _EPOCH + timedelta(microseconds=time_us)
    return f"{moment.isoformat(timespec='microseconds')}Z"
