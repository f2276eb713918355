"""Converts times between epoch microseconds and ISO 8601 strings."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from vedette.limits import Limit

SECOND_TEXTS_CACHED_MAX: Limit[int] = 16_384
"""Maximum cached second strings. Events of one response share most of their seconds."""


_EPOCH: Final = datetime(1970, 1, 1)


def instant(time_us: int) -> str:
    """Formats epoch microseconds as `2026-03-04T05:06:07.000008Z`."""
    second, micros = divmod(time_us, 1_000_000)
    return f"{second_text(second, 'T')}.{micros:06d}Z"


def known_instant(time_us: int) -> str | None:
    """Like `instant`; None for 0, which means unknown."""
    return instant(time_us) if time_us else None


@lru_cache(maxsize=SECOND_TEXTS_CACHED_MAX)
def second_text(second: int, separator: str) -> str:
    """Formats an epoch second without a zone. Cached, because events of one response share most of
    their seconds."""
    return (_EPOCH + timedelta(seconds=second)).isoformat(separator, "seconds")


def moment_us(value: object) -> int:
    """Parses an ISO 8601 time into epoch microseconds; UTC unless it names a zone. Returns 0 for
    None. Raises ValueError, also for a time before 1970."""
    if value is None:
        return 0
    if not isinstance(value, str):
        raise ValueError("must be a time in ISO 8601")  # noqa: TRY004 - Pydantic expects ValueError
    try:
        moment = datetime.fromisoformat(value)
        time_us = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000_000)
    except (ValueError, OverflowError):
        raise ValueError(f"{value[:40]!r} is not a time") from None
    if time_us <= 0:
        raise ValueError(f"{value[:40]!r} is before 1970")
    return time_us
