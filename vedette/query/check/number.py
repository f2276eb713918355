"""Checks numbers and truth values (docs/query-ranges.md#numbers)."""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from vedette.model.field import Field
from vedette.query.check.glob import is_any
from vedette.query.nodes import Exact, Range, Text, Value
from vedette.query.parse.escape import unescape
from vedette.query.typed import NEVER, NUMBER_MAX, NumberTest, Test

_NUMBER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})", re.ASCII)
_HEXADECIMAL = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII)
_BOUNDED = {"start_hour": 23, "start_weekday": 6}
"""Maximum of derived numbers for which 0 is a regular value. Unknown is stored above the
maximum."""

_UNREPORTED = frozenset({"is_64bit"})
"""Truth values whose stored 0 means unknown, so that no stored value means false."""


def number(text: str) -> int:
    """Parses a decimal or 0x number. Raises ValueError with a message for the caller."""
    lowered = text.strip().lower()
    if _NUMBER.fullmatch(lowered):
        found = int(lowered)
    elif _HEXADECIMAL.fullmatch(lowered):
        found = int(lowered, 16)
    else:
        raise ValueError(f"{text!r} is not a number")
    if abs(found) > NUMBER_MAX:
        raise ValueError(f"{text!r} is too large")
    return found


def bounds(value: Value) -> tuple[int, int] | None:
    """Returns the inclusive bounds of a value; None for any number (`*`, `[* TO *]`)."""
    match value:
        case Range(low="*", high="*"):
            return None
        case Range(low, high):
            lowest = -NUMBER_MAX if low == "*" else number(low) + value.excludes_low
            highest = NUMBER_MAX if high == "*" else number(high) - value.excludes_high
            return lowest, highest
        case Text(source):
            text = unescape(source)
        case Exact(text):
            pass
    return None if is_any(text) else (number(text), number(text))


def integer(field: Field, value: Value) -> tuple[Test, ...]:
    """Returns tests of an integer field. 0 means unknown, so `*` requires a value above 0."""
    found = bounds(value)
    if found is None:
        return tuple(_present(source) for source in field.sources)
    low, high = found
    if field.type == "integer" and isinstance(value, Range) and value.low == "*":
        low = 1  # an open range excludes unknown
    return tuple(_within(source, low, high) for source in field.sources)


def _within(source: str, low: int, high: int) -> NumberTest:
    """Returns the test of a range. For `_BOUNDED` numbers it excludes unknown."""
    if source not in _BOUNDED:
        return NumberTest(source, low, high)
    return NumberTest(source, max(low, 0), min(high, _BOUNDED[source]))


def _present(source: str) -> NumberTest:
    if source in _BOUNDED:
        return NumberTest(source, 0, _BOUNDED[source])
    return NumberTest(source, 1, NUMBER_MAX)


def decimal(field: Field, value: Value) -> tuple[Test, ...]:
    """Returns tests of a decimal field, stored in thousandths. Every document has a value."""
    match value:
        case Range(low, high):
            lowest, is_on_grid = (
                (-NUMBER_MAX, False) if low == "*" else _thousandths(low, ROUND_CEILING)
            )
            first = lowest + (is_on_grid and value.excludes_low)
            highest, is_on_grid = (
                (NUMBER_MAX, False) if high == "*" else _thousandths(high, ROUND_FLOOR)
            )
            last = highest - (is_on_grid and value.excludes_high)
            return tuple(NumberTest(source, first, last) for source in field.sources)
        case Text(source):
            text = unescape(source)
        case Exact(text):
            pass
    if is_any(text):
        return tuple(NumberTest(source, -NUMBER_MAX, NUMBER_MAX) for source in field.sources)
    found, is_on_grid = _thousandths(text, ROUND_FLOOR)
    if not is_on_grid:
        return NEVER
    return tuple(NumberTest(source, found, found) for source in field.sources)


def _thousandths(text: str, rounding: str) -> tuple[int, bool]:
    """Returns a number in thousandths, rounded, and whether the result is exact. Raises
    ValueError."""
    plain = text.strip()
    if not _DECIMAL.fullmatch(plain):
        raise ValueError(f"{text!r} is not a number")
    exact = Decimal(plain).scaleb(3)
    whole = exact.to_integral_value(rounding)
    return int(whole), whole == exact


def constant_zero(value: Value) -> bool:
    """Whether the number 0 matches the value."""
    found = bounds(value)
    return found is not None and found[0] <= 0 <= found[1]


def truth(value: Value) -> bool | None:
    """Returns True or False, or None for either. Raises ValueError."""
    match value:
        case Range(low="*", high="*"):
            return None
        case Range():
            raise ValueError("true and false do not support ranges")
        case Text(source):
            text = unescape(source)
        case Exact(text):
            pass
    if is_any(text):
        return None
    match text.strip().lower():
        case "true" | "1":
            return True
        case "false" | "0":
            return False
    raise ValueError(f"{text!r} is not true or false")


def boolean(field: Field, value: Value) -> tuple[Test, ...]:
    found = truth(value)
    if _UNREPORTED.intersection(field.sources):
        sources = () if found is False else field.sources
        return tuple(NumberTest(source, 1, NUMBER_MAX) for source in sources)
    if found is None:
        return tuple(NumberTest(source, 0, NUMBER_MAX) for source in field.sources)
    low, high = (1, NUMBER_MAX) if found else (0, 0)
    return tuple(NumberTest(source, low, high) for source in field.sources) or NEVER
