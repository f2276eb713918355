"""Converts time values into bounds in epoch microseconds, UTC (docs/query-ranges.md#times)."""

import re
from datetime import UTC, datetime, timedelta

from vedette.query.check.glob import is_any
from vedette.query.nodes import Exact, Range, Text, Value
from vedette.query.parse.escape import unescape

SECOND_US = 1_000_000
DAY_US = 24 * 3600 * SECOND_US
TIME_MAX_US = 9_999_999_999 * SECOND_US
"""Latest time that a query can specify, in 2286. The range of stored times ends soon after."""

_UNIT_US = {
    "s": SECOND_US,
    "m": 60 * SECOND_US,
    "h": 3600 * SECOND_US,
    "d": DAY_US,
    "w": 7 * DAY_US,
}
_NAMED_US = {"second": "s", "minute": "m", "hour": "h", "day": "d", "week": "w"}
_RELATIVE = re.compile(r"-(\d{1,9})([smhdw])", re.ASCII | re.IGNORECASE)
_NOW = re.compile(r"now(?:([+-])(\d{1,9})([a-z]+?)s?)?", re.ASCII | re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?",
    re.ASCII | re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_bounds(value: Value, now_us: int) -> tuple[int, int]:
    """Returns inclusive bounds. The lowest bound is 1 because 0 means unknown. Raises
    ValueError."""
    match value:
        case Range(low, high):
            return _range(value, _plain(low), _plain(high), now_us)
        case Text(source):
            text = _plain(unescape(source))
        case Exact(text):
            pass
    if is_any(text):
        return 1, TIME_MAX_US
    relative = _RELATIVE.fullmatch(text)
    if relative is not None:
        return _clamp(now_us - int(relative[1]) * _UNIT_US[relative[2].lower()], now_us)
    start_us = moment_us(text, now_us)
    # A moment stands for the 24 hours that start with it, excluding the end.
    return _clamp(start_us, start_us + DAY_US - 1)


def _plain(text: str) -> str:
    return text.strip().replace("\\", "").strip('"')


def _range(value: Range, low: str, high: str, now_us: int) -> tuple[int, int]:
    low_us, high_us = 1, TIME_MAX_US
    if low != "*":
        low_us = moment_us(low, now_us)
        if value.excludes_low:
            low_us += DAY_US if _DATE.fullmatch(low) else 1
    if high != "*":
        high_us = moment_us(high, now_us)
        is_day = _DATE.fullmatch(high) is not None
        if value.excludes_high:
            high_us -= 1
        elif is_day:
            high_us += DAY_US - 1
    return _clamp(low_us, high_us)


def _clamp(low_us: int, high_us: int) -> tuple[int, int]:
    return max(1, low_us), min(TIME_MAX_US, high_us)


def moment_us(text: str, now_us: int) -> int:
    """Converts a date, a moment, `-7d`, `NOW` or `NOW-7DAYS` to epoch microseconds. Raises
    ValueError."""
    relative = _RELATIVE.fullmatch(text)
    if relative is not None:
        return now_us - int(relative[1]) * _UNIT_US[relative[2].lower()]
    now = _NOW.fullmatch(text)
    if now is not None:
        return now_us + _offset_us(now, text)
    try:
        return _absolute(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date") from None


def _offset_us(now: re.Match[str], text: str) -> int:
    if now[1] is None:
        return 0
    name = now[3].lower()
    unit = _UNIT_US.get(_NAMED_US.get(name, name))
    if unit is None:
        raise ValueError(f"{text!r} is not a date")
    return int(now[1] + now[2]) * unit


def _absolute(text: str) -> int:
    if _DATE.fullmatch(text):
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(microseconds=1)
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    day, minute, second, fraction, zone = found.groups()
    offset = "+00:00" if zone is None or zone in "Zz" else zone
    moment = datetime.fromisoformat(f"{day}T{minute}{second or ':00'}{offset}")
    micros = int((fraction or "0").ljust(6, "0")[:6])
    return (moment - _EPOCH) // timedelta(microseconds=1) + micros
