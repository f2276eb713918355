"""Parses times in text to epoch microseconds.

Reads `2020-09-20 16:16:06.470`, `2020-09-20T16:16:06Z`, up to nine digits of fraction, offsets
(`+02:00`, `+0200`), and `/Date(1600618566470)/`. Text without a zone is UTC.

Every record has two or three times, mostly distinct. Times with milliseconds or finer are therefore
assembled from cached parts: minute, second, milliseconds, and the rest. The most frequent form, UTC
with milliseconds, has two parts: the second and the milliseconds. Other forms are cached as a
whole.
"""

import re
from datetime import UTC, datetime
from typing import Any, Final

from vedette.limits import Limit

TIME_MIN_US: Limit[int] = 0
"""Earliest accepted event time (us). Times before 1970 are rejected (1601 is the zero FILETIME)."""

TIMES_CACHED_MAX: Limit[int] = 32_768
"""Maximum entries of each cache of parsed times. Four digits and a zone make 10,000 endings."""

TIME_TEXT_CHARS_MAX: Limit[int] = 40
"""Maximum characters of a time that is cached. Longer texts are not valid times."""


_SECOND = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}")
_LAST_US = 253_402_300_800_000_000  # 10000-01-01
_MINUTE_US = 60_000_000

_SECONDS: Final = {f"{n:02}.": n * 1_000_000 for n in range(60)}
_MILLISECONDS: Final = {f"{n:03}": n * 1_000 for n in range(1_000)}
_FRACTIONS: Final = {f"{n:03}{zone}": n * 1_000 for n in range(1_000) for zone in ("", "Z")}
"""Microseconds by the text after the dot, for the most frequent forms."""

_seconds: dict[str, int] = {}
"""Seconds (us) by the text up to and including the dot. Only validated texts."""
_minutes: dict[str, int] = {}
"""Minutes (us) by the text up to and including the colon. Only validated texts."""
_ends: dict[str, int] = {}
"""Microseconds by the text after the milliseconds: finer digits, the zone."""
_moments: dict[str, int] = {}
"""Times by their whole text, for other forms."""


def time_us(text: str) -> int:
    """Returns epoch microseconds; 0 if malformed or before 1970. Cached."""
    fraction_us = _FRACTIONS.get(text[20:])
    if fraction_us is not None:
        second_us = _seconds.get(text[:20])
        if second_us is not None:
            return second_us + fraction_us
    try:
        second_us = _minutes[text[:17]] + _SECONDS[text[17:20]]
        moment = second_us + _MILLISECONDS[text[20:23]] + _ends[text[23:]]
    except KeyError:
        known = _moments.get(text)
        moment = _learn(text) if known is None else known
    if fraction_us is not None and moment and text[17:20] in _SECONDS:
        _cache_put(_seconds, text[:20], moment - fraction_us)
    return moment


def _learn(text: str) -> int:
    """Parses a time, and caches it or its parts."""
    second_us = _second_us(text)
    moment = second_us + _rest_us(text[19:]) if second_us > 0 else 0
    if len(text) > TIME_TEXT_CHARS_MAX:
        return moment
    if second_us > 0 and text[17:20] in _SECONDS and text[20:23] in _MILLISECONDS:
        minute_us = second_us - _SECONDS[text[17:20]]
        if minute_us > TIME_MIN_US and minute_us + _MINUTE_US <= _LAST_US:
            _cache_put(_minutes, text[:17], minute_us)
            _cache_put(_ends, text[23:], _rest_us(".000" + text[23:]))
            return moment
    _cache_put(_moments, text, moment)
    return moment


def _cache_put(cache: dict[str, int], text: str, value: int) -> None:
    if len(cache) >= TIMES_CACHED_MAX:
        cache.clear()
    cache[text] = value


def any_time_us(value: Any) -> int:
    """Like `time_us` for any type: text, or a number of seconds, ms or us."""
    if isinstance(value, str):
        return _date(value) if value.startswith("/Date(") else time_us(value.strip())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return epoch_us(value)
    return 0


def epoch_us(number: float) -> int:
    """Returns epoch microseconds for a number whose magnitude determines its unit: s, ms, us or
    finer."""
    for below, factor in ((10**11, 10**6), (10**14, 10**3), (10**17, 1)):
        if 0 < number < below:
            return int(number * factor)
    return int(number) // 1_000 if 0 < number < 10**20 else 0


def _date(text: str) -> int:
    digits = text[6:].partition(")")[0].partition("+")[0]
    return int(digits) * 1_000 if digits.isascii() and digits.isdigit() and len(digits) < 16 else 0


def _second_us(text: str) -> int:
    """Returns the epoch microseconds of the second at the start of a text; 0 if invalid."""
    try:
        # Faster than strptime, but it accepts more forms, so the form is checked first.
        moment = datetime.fromisoformat(text[:19]) if _SECOND.match(text) else None
    except ValueError:
        return 0
    second_us = 0 if moment is None else int(moment.replace(tzinfo=UTC).timestamp()) * 1_000_000
    return second_us if TIME_MIN_US < second_us < _LAST_US else 0


def _rest_us(text: str) -> int:
    """Returns the microseconds of the fraction minus the zone offset."""
    digits, rest = "", text.strip()
    if rest[:1] in {".", ","}:
        end = 1
        while end < len(rest) and rest[end].isdigit() and rest[end].isascii():
            end += 1
        digits, rest = rest[1:end], rest[end:].strip()
    return int((digits + "000000")[:6]) - _zone_us(rest)


def _zone_us(text: str) -> int:
    sign = {"+": 1, "-": -1}.get(text[:1], 0)
    digits = text[1:].replace(":", "")[:4]
    if sign == 0 or len(digits) != 4 or not (digits.isascii() and digits.isdigit()):
        return 0
    return sign * (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * 1_000_000
