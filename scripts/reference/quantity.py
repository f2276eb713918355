"""Numbers as people read them."""

from typing import Final

_SIZES: Final = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_TIMES_US: Final = (
    (24 * 3600 * 1_000_000, "d"),
    (3600 * 1_000_000, "h"),
    (60 * 1_000_000, "min"),
    (1_000_000, "s"),
    (1_000, "ms"),
)


def size(byte_count: int) -> str:
    """As in `67,108,864 (64 MiB)`; small ones without brackets."""
    return _with_unit(byte_count, _SIZES)


def duration(time_us: int, shown: int) -> str:
    """A span of microseconds next to the number that the code has for it."""
    for whole, unit in _TIMES_US:
        if time_us and time_us % whole == 0:
            return f"{shown:,} ({time_us // whole} {unit})"
    return f"{shown:,}"


def _with_unit(number: int, units: tuple[tuple[int, str], ...]) -> str:
    for whole, unit in units:
        if number and number % whole == 0:
            return f"{number:,} ({number // whole} {unit})"
    return f"{number:,}"
