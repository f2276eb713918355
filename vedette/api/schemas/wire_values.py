"""Scalar encodings of the API: times, and text inside pipe-separated strings.

The API has three forms of time (docs/clients.md#ids-and-times): `instant` in results and JSON
events, `event_time` inside event strings, and the local time of sensors (`schemas/sensor.py`).
"""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from vedette.limits import SECOND_TEXTS_CACHED_MAX

_EPOCH: Final = datetime(1970, 1, 1)
_PIPE_LOOKALIKE: Final = re.compile(r"%(?=(?:25)*7C)")
_ESCAPED_PIPE: Final = re.compile(r"%((?:25)*)7C")


def instant(time_us: int) -> str:
    """Epoch microseconds as `2026-03-04T05:06:07.000008Z`."""
    second, micros = divmod(time_us, 1_000_000)
    return f"{_second_text(second, 'T')}.{micros:06d}Z"


def known_instant(time_us: int) -> str | None:
    """The same; None for 0, a time that is not known."""
    return instant(time_us) if time_us else None


def milli_instant(time_us: int) -> str:
    """Epoch microseconds as `2026-03-04T05:06:07.008Z`. Cut, not rounded."""
    second, micros = divmod(time_us, 1_000_000)
    return f"{_second_text(second, 'T')}.{micros // 1_000:03d}Z"


def event_time(time_us: int) -> str:
    """Epoch microseconds as `2026-03-04 05:06:07.000008`, the form inside event strings."""
    second, micros = divmod(time_us, 1_000_000)
    return f"{_second_text(second, ' ')}.{micros:06d}"


@lru_cache(maxsize=SECOND_TEXTS_CACHED_MAX)
def _second_text(second: int, separator: str) -> str:
    """Cached: events of one answer share most of their seconds."""
    return (_EPOCH + timedelta(seconds=second)).isoformat(separator, "seconds")


def elapsed(seconds: float) -> float:
    """How long a search took, in seconds with microseconds."""
    return round(seconds, 6)


def truth(flag: object) -> str:
    """`true` or `false`, the boolean text of event strings."""
    return "true" if flag else "false"


def pipe_safe(value: str) -> str:
    """A value without a pipe character, from which `pipe_original` gets the value back.

    `|` becomes `%7C`; text that already reads so (`%7C`, `%257C`, ...) gets one more `25`
    behind its percent sign. Every other value stays as it is (docs/event-strings.md).
    """
    if "|" in value or "7C" in value:
        value = _PIPE_LOOKALIKE.sub("%25", value).replace("|", "%7C")
    return value


def pipe_original(text: str) -> str:
    """The value that `pipe_safe` was given."""
    return _ESCAPED_PIPE.sub(_unescape, text)


def _unescape(match: re.Match[str]) -> str:
    return f"%{match[1][2:]}7C" if match[1] else "|"
