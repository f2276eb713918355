"""A histogram as bars: heights of an SVG, with a table beside it that says the same."""

from dataclasses import dataclass
from typing import Final

from vedette.search.processes.histogram import Histogram

HEIGHT: Final = 56
_MOST_BARS: Final = 400


@dataclass(frozen=True, slots=True)
class Bar:
    """One interval. Places are in thousandths of the width."""

    time_us: int
    until_us: int
    count: int
    left: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    bars: tuple[Bar, ...]
    since_us: int
    until_us: int
    most: int
    width_us: int


def bars_of(found: Histogram) -> Bars:
    """The bars of a histogram; none without counts."""
    width_us = found.width_us
    first, last = found.since_us // width_us, found.until_us // width_us
    counts = [(step, count) for step, count in found.counts if first <= step <= last]
    steps = max(1, min(last - first + 1, _MOST_BARS))
    most = max((count for _, count in counts), default=0)
    bars = tuple(
        Bar(
            time_us=step * width_us,
            until_us=(step + 1) * width_us,
            count=count,
            left=round(1_000 * (step - first) / steps, 2),
            width=round(1_000 / steps * 0.86, 2),
            height=max(1.5, round(HEIGHT * count / most, 1)),
        )
        for step, count in counts
        if step - first < steps
    )
    return Bars(bars, first * width_us, (first + steps) * width_us, most, width_us)
