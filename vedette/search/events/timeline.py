"""The timeline of a process: how many events of each type in each interval of time.

Intervals are aligned to the epoch in UTC, so that those of two processes lie side by side.
"""

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from vedette import limits
from vedette.errors import BadRequestError
from vedette.model.scope import Scope
from vedette.search.bodies.process import Body
from vedette.search.bodies.wire_values import instant
from vedette.search.processes.not_found import unknown_process
from vedette.store.engine.client import Engine
from vedette.store.read.event_timeline import KINDS, Bucket, Span, count_events, span_of_events
from vedette.store.read.relatives import facts_of

SECOND_US: Final = 1_000_000

_UNITS: Final = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3_600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
}
_INTERVAL: Final = re.compile(r"(\d{0,6})\s*([a-z]*)", re.ASCII)
_NICE_S: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
_EVER_US: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class TimelineRequest:
    """What is counted; None where the caller leaves it open."""

    interval_s: int | None = None
    start_us: int | None = None
    end_us: int | None = None


def interval_of(text: str) -> int | None:
    """Seconds of an interval: `30s`, `5m`, `1h`, `1d`, `minute`, `300`; None for "".

    Raises BadRequestError for what is none, or not from a second to a day.
    """
    if not text.strip():
        return None
    match = _INTERVAL.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise BadRequestError(f"interval: {text[:40]!r} is not a time such as 30s, 5m, 1h or 1d")
    seconds = int(match[1] or 1) * _UNITS[match[2]]
    if not 1 <= seconds <= limits.TIMELINE_INTERVAL_S_MAX:
        raise BadRequestError("interval: must be from 1s to 1d")
    return seconds


def moment_of(name: str, text: str) -> int | None:
    """Epoch microseconds of an ISO 8601 time, UTC where it has no zone; None for "".

    Raises BadRequestError, naming the parameter.
    """
    if not text.strip():
        return None
    try:
        given = text.strip()
        # The plus sign of a zone, unescaped in a URL, arrives as a space.
        found = datetime.fromisoformat(given.replace(" ", "+") if "T" in given else given)
    except ValueError:
        raise BadRequestError(f"{name}: {text[:40]!r} is not a time") from None
    return round(found.replace(tzinfo=found.tzinfo or UTC).timestamp() * SECOND_US)


def timeline(engine: Engine, scope: Scope, process_id: str, request: TimelineRequest) -> Body:
    """The counts. Raises NotFoundError for a process that cannot be seen, BadRequestError for an
    interval that is too short for the time."""
    began = time.perf_counter()
    within = _within(request)
    interval_s = request.interval_s
    if interval_s is None:
        span = span_of_events(engine, process_id, scope, within)
        interval_s = _fitting(span) if span is not None else 1
    step_us = interval_s * SECOND_US
    most = limits.TIMELINE_BUCKETS_MAX * len(KINDS)
    found = count_events(engine, process_id, scope, within, step_us, limit=most + 1)
    if not found and process_id not in facts_of(engine, [process_id], scope):
        raise unknown_process(process_id)
    span = _span(found)
    if len(found) > most:
        span = span_of_events(engine, process_id, scope, within)
    if span is not None:
        _check(span, interval_s)
    return _body(process_id, interval_s, span, found) | {"elapsed": time.perf_counter() - began}


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
    """The shortest round interval that makes few enough of the whole span."""
    fitting = (one for one in _NICE_S if _steps(span, one) <= limits.TIMELINE_BUCKETS_AIM)
    return next(fitting, limits.TIMELINE_INTERVAL_S_MAX)


def _check(span: Span, interval_s: int) -> None:
    steps = _steps(span, interval_s)
    if steps > limits.TIMELINE_BUCKETS_MAX:
        raise BadRequestError(
            f"interval: {interval_s}s makes {steps} intervals of the time from "
            f"{instant(span.first_us)} to {instant(span.last_us)}, and at most "
            f"{limits.TIMELINE_BUCKETS_MAX} are answered; ask for a longer one, or a start and end"
        )


def _body(process_id: str, interval_s: int, span: Span | None, found: Sequence[Bucket]) -> Body:
    totals: Counter[str] = Counter()
    steps: dict[int, dict[str, int]] = {}
    for bucket in found:
        totals[bucket.kind] += bucket.count
        steps.setdefault(bucket.step, {})[bucket.kind] = bucket.count
    step_us = interval_s * SECOND_US
    return {
        "process_id": process_id,
        "interval": interval_s,
        "first_event": instant(span.first_us) if span else None,
        "last_event": instant(span.last_us) if span else None,
        "buckets": [
            {"start": instant(step * step_us), "event_counts": counts}
            for step, counts in steps.items()
        ],
        "event_counts": dict(totals),
    }
