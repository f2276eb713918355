"""Histograms as bars: coordinates for an SVG, which pages accompany with an equivalent table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from vedette.limits import Limit
from vedette.search.processes.histogram import Histogram
from vedette.web.page.severity import LEVELS

HISTOGRAM_BUCKETS_LEAST: Limit[int] = 24
"""Minimum number of intervals in a histogram, so that a single moment is shown as a narrow bar."""


HEIGHT: Final = 56
_MOST_BARS: Final = 400


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval. Coordinates are in thousandths of the width."""

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


@dataclass(frozen=True, slots=True)
class Layer:
    """The part of all bars with a given value of a facet; `value` is None for all other values."""

    value: str | int | None
    count: int
    counts: tuple[int, ...]
    """Count per bar."""
    path: str
    """SVG path."""


@dataclass(frozen=True, slots=True)
class Stack:
    """An interval with its parts by severity level, the most severe on top. Coordinates as in
    `Bar`."""

    time_us: int
    left: float
    width: float
    counts: tuple[int, ...]
    """Count per level, in the order of `LEVELS`."""
    parts: tuple[tuple[str, float, float], ...]
    """Level, top and height of each part that is not empty."""


@dataclass(frozen=True, slots=True)
class Stacks:
    stacks: tuple[Stack, ...]
    most: int
    total: int


def stacks_of(
    counts: Sequence[tuple[int, int, int]], since_us: int, until_us: int, width_us: int
) -> Stacks:
    """Returns stacked bars from counts as (interval number, fifth of the severity range, count).
    Includes empty intervals."""
    first, last = since_us // width_us, until_us // width_us
    by_step = {step: [0] * len(LEVELS) for step in range(first, last + 1)}
    for step, fifth, count in counts:
        if step in by_step:
            by_step[step][len(LEVELS) - 1 - fifth] += count
    totals = [sum(one) for one in by_step.values()]
    most = max(totals, default=0)
    width = 1_000 / len(by_step)
    stacks = tuple(
        Stack(
            step * width_us,
            round((step - first) * width, 2),
            round(width * 0.86, 2),
            tuple(of_step),
            tuple(_parts(of_step, most)),
        )
        for step, of_step in by_step.items()
    )
    return Stacks(stacks, most, sum(totals))


def _parts(counts: Sequence[int], most: int) -> Iterator[tuple[str, float, float]]:
    """Yields the parts from the bottom up, lowest level first."""
    top = float(HEIGHT)
    for level, count in reversed(list(zip(LEVELS, counts, strict=True))):
        if count:
            height = max(1.5, round(HEIGHT * count / most, 1))
            top = round(top - height, 1)
            yield level, top, height


def layers_of(bars: Sequence[Bar], found: Histogram) -> tuple[Layer, ...]:
    """Returns the parts of the bars from the bottom up, all other values on top. A process with
    several values counts in each, so that the parts can exceed the bar."""
    stacked, nothing = dict(found.stacked), [0] * len(found.values)
    by_bar = [list(stacked.get(bar.time_us // found.width_us, nothing)) for bar in bars]
    for bar, counts in zip(bars, by_bar, strict=True):
        counts.append(max(0, bar.count - sum(counts)))
    most = max((sum(counts) for counts in by_bar), default=0)
    tops = [float(HEIGHT)] * len(bars)
    layers = []
    for at, value in enumerate((*found.values, None)):
        path = []
        for number, (bar, counts) in enumerate(zip(bars, by_bar, strict=True)):
            if counts[at]:
                high = max(1.5, round(HEIGHT * counts[at] / most, 1))
                path.append(f"M{bar.left} {tops[number]:.1f}v-{high}h{bar.width}v{high}z")
                tops[number] -= high
        of_bars = tuple(counts[at] for counts in by_bar)
        layers.append(Layer(value, sum(of_bars), of_bars, "".join(path)))
    return tuple(layers)


def bars_of(found: Histogram) -> Bars:
    """Returns the bars of a histogram; no bars without counts."""
    width_us = found.width_us
    first, last = found.since_us // width_us, found.until_us // width_us
    counts = [(step, count) for step, count in found.counts if first <= step <= last]
    room = max(0, HISTOGRAM_BUCKETS_LEAST - (last - first + 1))  # see HISTOGRAM_BUCKETS_LEAST
    first, last = first - room // 2, last + room - room // 2
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


def day_bars(days: Sequence[tuple[str, int, int]]) -> tuple[Bar, ...]:
    """Returns bars for counts per day (ISO date, count, hosts) in chronological order, positioned
    between the first and the last day; days without counts are gaps."""
    if not days:
        return ()
    numbers = [date.fromisoformat(day).toordinal() for day, _, _ in days]
    width = 1_000 / (numbers[-1] - numbers[0] + 1)
    most = max(count for _, count, _ in days)
    return tuple(
        Bar(
            0,
            0,
            count,
            left=round((number - numbers[0]) * width, 2),
            width=round(max(width * 0.86, 2), 2),
            height=round(max(HEIGHT * count / most, 2), 2),
        )
        for number, (_, count, _) in zip(numbers, days, strict=True)
    )


def period_bars(periods: Sequence[tuple[int, int, int]]) -> tuple[Bar, ...]:
    """Returns bars for periods (from, until, count) in the same time unit. The width is
    proportional to the duration, with a visible minimum."""
    if not periods:
        return ()
    first, last = min(one[0] for one in periods), max(one[1] for one in periods)
    whole = max(last - first, 1)
    most = max(*(count for _, _, count in periods), 1)
    return tuple(
        Bar(
            since,
            until,
            count,
            left=round(min(997 * (since - first) / whole, 997), 2),
            width=round(max(997 * (until - since) / whole, 3), 2),
            height=round(max(HEIGHT * count / most, 2), 2),
        )
        for since, until, count in periods
    )
