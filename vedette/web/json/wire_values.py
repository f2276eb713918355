"""Scalar encodings of the API: times, and text inside pipe-separated strings.

The API has three time formats (docs/clients.md#ids-and-times): `instant` in results and JSON
events, `event_time` inside event strings, and the local time of sensors (`schemas/sensor.py`).
"""

import re
from typing import Final

from vedette.record.times import instant, known_instant, second_text

__all__ = (
    "elapsed",
    "event_time",
    "instant",
    "known_instant",
    "milli_instant",
    "pipe_original",
    "pipe_safe",
    "truth",
)

_PIPE_LOOKALIKE: Final = re.compile(r"%(?=(?:25)*7C)")
_ESCAPED_PIPE: Final = re.compile(r"%((?:25)*)7C")


def milli_instant(time_us: int) -> str:
    """Formats epoch microseconds as `2026-03-04T05:06:07.008Z`, truncated to milliseconds."""
    second, micros = divmod(time_us, 1_000_000)
    return f"{second_text(second, 'T')}.{micros // 1_000:03d}Z"


def event_time(time_us: int) -> str:
    """Formats epoch microseconds as `2026-03-04 05:06:07.000008`, the format inside event
    strings."""
    second, micros = divmod(time_us, 1_000_000)
    return f"{second_text(second, ' ')}.{micros:06d}"


def elapsed(seconds: float) -> float:
    """Rounds the duration of a search (s) to microseconds."""
    return round(seconds, 6)


def truth(flag: object) -> str:
    """Returns `true` or `false`, the boolean text of event strings."""
    return "true" if flag else "false"


def pipe_safe(value: str) -> str:
    """Escapes pipe characters; `pipe_original` reverses it.

    `|` becomes `%7C`. Text that already looks escaped (`%7C`, `%257C`, ...) gets another `25` after
    its percent sign. All other values remain unchanged (docs/event-strings.md).
    """
    if "|" in value or "7C" in value:
        value = _PIPE_LOOKALIKE.sub("%25", value).replace("|", "%7C")
    return value


def pipe_original(text: str) -> str:
    """Reverses the escaping of `pipe_safe`."""
    return _ESCAPED_PIPE.sub(_unescape, text)


def _unescape(match: re.Match[str]) -> str:
    return f"%{match[1][2:]}7C" if match[1] else "|"
