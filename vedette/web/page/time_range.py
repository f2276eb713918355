"""Time range of a view, as its address contains it: `-24h`, `all`, or two times."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from vedette.errors import BadRequestError

_RELATIVE: Final = re.compile(r"-(\d{1,4})([mhd])", re.ASCII)
_UNIT_US: Final = {"m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
LAST: Final = {"m": "last {1} minutes", "h": "last {1} hours", "d": "last {1} days"}
"""Messages for a range of several units."""
LAST_ONE: Final = {"m": "last minute", "h": "last hour", "d": "last day"}
"""Messages for a range of a single unit."""
SINCE: Final = "since {1}"
CHOICES: Final = ("-15m", "-1h", "-4h", "-24h", "-7d", "-30d", "all")


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range in epoch microseconds; `since_us` and `until_us` are 0 for an open end."""

    text: str
    since_us: int
    until_us: int

    @property
    def condition(self) -> str:
        """Value to match a time field with, in the query language; "" for all time."""
        if not self.since_us and not self.until_us:
            return ""
        return f"[{_instant(self.since_us)} TO {_instant(self.until_us)}]"

    def span_us(self, now_us: int) -> int:
        """Returns the duration; without a start, the time from the epoch to the end."""
        return (self.until_us or now_us) - self.since_us


def time_range(text: str, now_us: int) -> TimeRange:
    """Parses a time range. Raises BadRequestError."""
    if text == "all":
        return TimeRange(text, 0, 0)
    relative = _RELATIVE.fullmatch(text)
    if relative is not None:
        return TimeRange(text, now_us - int(relative[1]) * _UNIT_US[relative[2]], 0)
    low, found, high = text.partition("..")
    if not found:
        raise BadRequestError(f"t: {text[:40]!r} is not a valid time range")
    since_us, until_us = _moment(low), _moment(high)
    if since_us and until_us and since_us > until_us:
        raise BadRequestError("t: the end is before the start")
    return TimeRange(text, since_us, until_us)


def label_of(text: str, words: Callable[..., str]) -> str:
    """Returns a range in words, translated by `words`."""
    if text == "all":
        return words("all time")
    relative = _RELATIVE.fullmatch(text)
    if relative is None:
        low, _, high = text.partition("..")
        return words("{1} to {2}", low, high) if high else words(SINCE, low)
    count = int(relative[1])
    return words(LAST_ONE[relative[2]]) if count == 1 else words(LAST[relative[2]], count)


def span_text(span_us: int) -> str:
    """Formats a duration in the largest unit that divides it."""
    units = (("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000))
    for name, unit_us in units:
        if span_us % unit_us == 0:
            return f"{span_us // unit_us} {name}"
    return f"{span_us / 1_000_000:.1f} s"


def _moment(text: str) -> int:
    if not text:
        return 0
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequestError(f"t: {text[:40]!r} is not a valid time") from None
    return round(found.replace(tzinfo=found.tzinfo or UTC).timestamp() * 1_000_000)


def _instant(time_us: int) -> str:
    if not time_us:
        return "*"
    return (
        datetime.fromtimestamp(time_us / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")[:-4]
        + "Z"
    )
