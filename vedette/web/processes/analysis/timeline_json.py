"""Timeline of a process: its parameters and its response body."""

import re
from collections import Counter
from datetime import UTC, datetime
from typing import Final

from vedette import limits
from vedette.errors import BadRequestError
from vedette.search.events.timeline import SECOND_US, Timeline
from vedette.web.json.wire_values import elapsed, instant
from vedette.web.processes.models import Body

_UNITS: Final = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3_600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
}
_INTERVAL: Final = re.compile(r"(\d{0,6})\s*([a-z]*)", re.ASCII)


def timeline_body(timeline: Timeline) -> Body:
    """Returns counts by event type for each interval with events, and the totals."""
    totals: Counter[str] = Counter()
    steps: dict[int, dict[str, int]] = {}
    for bucket in timeline.buckets:
        totals[bucket.kind] += bucket.count
        steps.setdefault(bucket.step, {})[bucket.kind] = bucket.count
    step_us = timeline.interval_s * SECOND_US
    span = timeline.span
    return {
        "process_id": timeline.process_id,
        "interval": timeline.interval_s,
        "first_event": instant(span.first_us) if span else None,
        "last_event": instant(span.last_us) if span else None,
        "buckets": [
            {"start": instant(step * step_us), "event_counts": counts}
            for step, counts in steps.items()
        ],
        "event_counts": dict(totals),
        "elapsed": elapsed(timeline.elapsed_s),
    }


def interval_of(text: str) -> int | None:
    """Parses an interval to seconds: `30s`, `5m`, `1h`, `1d`, `minute`, `300`; None for "".

    Raises BadRequestError for other text, and outside 1 second to 1 day.
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
    """Parses an ISO 8601 time to epoch microseconds, UTC if it has no zone; None for "".

    Raises BadRequestError that names the parameter.
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
