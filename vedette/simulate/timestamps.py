"""Timestamps in the wire formats, from cached parts of each second."""

from datetime import UTC, datetime
from functools import lru_cache

MILLIS: tuple[bytes, ...] = tuple(b".%03d" % n for n in range(1000))
"""Milliseconds, including the decimal point."""

_MINUTES: tuple[bytes, ...] = tuple(b"%02d:%02d:" % divmod(n, 60) for n in range(24 * 60))
_SECONDS: tuple[bytes, ...] = tuple(b"%02d" % n for n in range(60))


@lru_cache(maxsize=8192)
def second_text(second: int) -> tuple[bytes, bytes]:
    """Returns an epoch second, UTC, in ISO 8601 and in Sysmon's form: (b"2026-03-01T07:05:09",
    b"2026-03-01 07:05:09")."""
    day, rest = divmod(second, 24 * 3600)
    date, clock = _date_text(day), _MINUTES[rest // 60] + _SECONDS[rest % 60]
    return date + b"T" + clock, date + b" " + clock


@lru_cache(maxsize=64)
def _date_text(day: int) -> bytes:
    return datetime.fromtimestamp(day * 24 * 3600, UTC).strftime("%Y-%m-%d").encode()


def utc_text(at_us: int) -> bytes:
    """Returns Sysmon's UtcTime: `2026-03-01 07:05:09.123`."""
    second, micros = divmod(at_us, 1_000_000)
    return second_text(second)[1] + MILLIS[micros // 1000]


def iso_text(at_us: int) -> bytes:
    """Returns ISO 8601 with nine decimals, in the form of Endpoint Security:
    `2026-03-01T07:05:09.123456000Z`."""
    second, micros = divmod(at_us, 1_000_000)
    return b"%b.%06d000Z" % (second_text(second)[0], micros)


def json_text(text: str) -> bytes:
    """Returns the inside of a JSON string. The input has no control characters except line
    breaks."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").encode()
