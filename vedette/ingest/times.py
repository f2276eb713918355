"""Times in text, as senders write them, to epoch microseconds.

All of these are read: `2020-09-20 16:16:06.470`, `2020-09-20T16:16:06Z`, with up to nine digits
of fraction, with an offset (`+02:00`, `+0200`), and `/Date(1600618566470)/`. Text without a
zone is UTC: the caller knows better or nobody does. Times repeat: many hosts log in the same
millisecond, and every time is asked for to learn from its record and to normalise it. Seconds and
fractions repeat even more. So all are looked up, not computed.
"""

import re
from datetime import UTC, datetime
from typing import Any

from vedette.limits import TIME_MIN_US

_CACHE_MAX = 8_192
_MOMENTS_MAX = 32_768
_TEXT_CHARS_MAX = 40
"""Longer texts are no times that anybody writes, and not worth remembering."""

_SECOND = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}")
_LAST_US = 253_402_300_800_000_000  # 10000-01-01
_moments: dict[str, int] = {}
_seconds: dict[str, int] = {}
_tails: dict[str, int] = {}


def time_us(text: str) -> int:
    """Epoch microseconds; 0 when the text is no time or lies before 1970."""
    moment = _moments.get(text)
    return _learn_moment(text) if moment is None else moment


def _learn_moment(text: str) -> int:
    second = _seconds.get(text[:19])
    if second is None:
        second = _learn_second(text)
    tail = _tails.get(text[19:])
    if tail is None:
        tail = _learn_tail(text[19:])
    moment = second + tail if second > 0 else 0
    if len(_moments) >= _MOMENTS_MAX:
        _moments.clear()
    if len(text) <= _TEXT_CHARS_MAX:
        _moments[text] = moment
    return moment


def any_time_us(value: Any) -> int:
    """Like `time_us` for a value of any type: text, or a number of seconds, ms or us."""
    if isinstance(value, str):
        return _date(value) if value.startswith("/Date(") else time_us(value.strip())
    if isinstance(value, int | float) and not isinstance(value, bool):
        return epoch_us(value)
    return 0


def epoch_us(number: float) -> int:
    """An epoch time whose unit its size tells: seconds, milliseconds, microseconds or finer."""
    for below, factor in ((10**11, 10**6), (10**14, 10**3), (10**17, 1)):
        if 0 < number < below:
            return int(number * factor)
    return int(number) // 1_000 if 0 < number < 10**20 else 0


def _date(text: str) -> int:
    digits = text[6:].partition(")")[0].partition("+")[0]
    return int(digits) * 1_000 if digits.isascii() and digits.isdigit() and len(digits) < 16 else 0


def _learn_second(text: str) -> int:
    if len(_seconds) >= _CACHE_MAX:
        _seconds.clear()
    try:
        # Much quicker than strptime, but it reads more forms, so the form is looked at first.
        moment = datetime.fromisoformat(text[:19]) if _SECOND.match(text) else None
    except ValueError:
        moment = None
    second = 0 if moment is None else int(moment.replace(tzinfo=UTC).timestamp()) * 1_000_000
    second = second if TIME_MIN_US < second < _LAST_US else 0
    _seconds[text[:19]] = second
    return second


def _learn_tail(text: str) -> int:
    """Microseconds that the fraction and the zone after the seconds add."""
    if len(_tails) >= _CACHE_MAX:
        _tails.clear()
    digits, rest = "", text.strip()
    if rest[:1] in {".", ","}:
        end = 1
        while end < len(rest) and rest[end].isdigit() and rest[end].isascii():
            end += 1
        digits, rest = rest[1:end], rest[end:].strip()
    tail = int((digits + "000000")[:6]) - _zone_us(rest)
    if len(text) <= _TEXT_CHARS_MAX:
        _tails[text] = tail
    return tail


def _zone_us(text: str) -> int:
    sign = {"+": 1, "-": -1}.get(text[:1], 0)
    digits = text[1:].replace(":", "")[:4]
    if sign == 0 or len(digits) != 4 or not (digits.isascii() and digits.isdigit()):
        return 0
    return sign * (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * 1_000_000
