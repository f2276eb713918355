"""Checks whether the store holds everything that was sent in a period (docs/completeness.md).

The event logs of a host number their records, and our sensor numbers its blocks. The numbers that
arrived in a period must form one run that joins the numbers that arrived before and after. Times
are arrival times, in whole windows. A channel without dense numbers cannot be checked and gets the
verdict `unnumbered`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from vedette.limits import SEGMENT_WINDOW_MS, Limit
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import list_partitions
from vedette.store.read.record_numbers import (
    Around,
    Channel,
    Range,
    ReceivedNumbers,
    around,
    spans,
    unnumbered,
    unstored,
)

COMPLETENESS_GAPS_SHOWN_MAX: Limit[int] = 100
"""Gaps of a channel listed in an answer; further gaps are only counted."""

COMPLETENESS_AROUND_DAYS: Limit[int] = 7
"""Days before and after a period in which the check looks for numbers that continue or fill it: a
laptop is away for a week, and a shipper sends its backlog late."""


Verdict = Literal["complete", "open", "refused", "gaps", "unnumbered", "nothing"]

NOT_DENSE: Final = frozenset({"auditd"})
"""Channels whose numbers distinguish records but have holes by design."""

_DAY_MS: Final = 24 * 3600 * 1_000
_NONE: Final = Around(0, 0)
_GRAVEST: Final[tuple[Verdict, ...]] = (
    "gaps",
    "refused",
    "open",
    "unnumbered",
    "complete",
    "nothing",
)


@dataclass(frozen=True, slots=True)
class Window:
    """A period of arrival, [from, until), in whole windows of five minutes."""

    from_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """Completeness of one channel of a host. `first` and `last` are the lowest and highest numbers
    that arrived in the period, 0 for none. `below` and `above` are the adjacent numbers that
    arrived at other times, 0 for none."""

    channel: str
    verdict: Verdict
    received: int
    first: int
    last: int
    below: int
    above: int
    missing: int
    gaps: tuple[Range, ...]
    """At most `COMPLETENESS_GAPS_SHOWN_MAX` ranges."""
    unstored: dict[str, int]
    """Maps outcome to the number of records that arrived but were not stored."""


@dataclass(frozen=True, slots=True)
class QueueReport:
    """The blocks of one queue of our sensor, for all times, because missing blocks have no arrival
    time."""

    epoch: str
    received_to: int
    missing: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class SensorReport:
    """Completeness of one sensor."""

    sensor_id: int
    verdict: Verdict
    channels: tuple[ChannelReport, ...]
    queues: tuple[QueueReport, ...]
    unnumbered_requests: int


def unmounted(engine: Engine, window: Window) -> list[str]:
    """Returns the names of the unmounted partitions that may hold records that arrived in a
    window."""
    return [
        one.name
        for one in list_partitions(engine)
        if one.state == "cold"
        and one.opened_ms < window.until_ms
        and one.closed_ms > window.from_ms
    ]


def whole_windows(from_us: int, until_us: int) -> Window:
    """Returns the whole windows that overlap a period."""
    step = SEGMENT_WINDOW_MS
    return Window(from_us // 1_000 // step * step, -(-until_us // 1_000 // step) * step)


def completeness(
    engine: Engine,
    sensor_ids: Sequence[int],
    window: Window,
    channel_names: dict[int, str],
    queues: dict[int, tuple[QueueReport, ...]],
) -> list[SensorReport]:
    """Returns one report per sensor, in the order given. The caller checks the scope. `queues`
    holds the queues that changed since the window began. Raises UnavailableError at the deadline.
    """
    reach = COMPLETENESS_AROUND_DAYS * _DAY_MS
    times = (
        max(0, window.from_ms - reach),
        window.from_ms,
        window.until_ms,
        window.until_ms + reach,
    )
    inside = spans(engine, sensor_ids, window.from_ms, window.until_ms)
    outside = around(engine, sensor_ids, inside, times)
    left_out = unstored(engine, sensor_ids, window.from_ms, window.until_ms)
    requests = unnumbered(engine, sensor_ids, window.from_ms, window.until_ms)
    channels: dict[int, list[ChannelReport]] = {}
    for channel in sorted(inside.keys() | outside.keys()):
        name = channel_names.get(channel[1], f"channel {channel[1]}")
        report = _channel(name, channel, inside, outside, left_out)
        if report is not None:
            channels.setdefault(channel[0], []).append(report)
    return [
        _sensor(one, channels.get(one, ()), queues.get(one, ()), requests.get(one, 0))
        for one in sensor_ids
    ]


def _channel(
    name: str,
    channel: Channel,
    inside: dict[Channel, ReceivedNumbers],
    outside: dict[Channel, Around],
    left_out: dict[Channel, dict[str, int]],
) -> ChannelReport | None:
    span, near = inside.get(channel), outside.get(channel, _NONE)
    counts = left_out.get(channel, {})
    if name in NOT_DENSE:
        if span is None:
            return None
        return ChannelReport(
            name, "unnumbered", span.received, span.first, span.last, 0, 0, 0, (), counts
        )
    first, last = (span.first, span.last) if span else (0, 0)
    gaps = list(_edges(near, first, last))
    missing = sum(b - a + 1 for a, b in gaps)
    if span is not None:
        rest = [part for gap in span.gaps for part in without(gap, near.between)]
        filled = sum(b - a + 1 for a, b in span.gaps) - sum(b - a + 1 for a, b in rest)
        gaps += rest
        missing += span.missing - filled
    if span is None and not gaps:
        return None
    verdict = _verdict(missing, counts, near.above)
    received = span.received if span else 0
    return ChannelReport(
        name,
        verdict,
        received,
        first,
        last,
        near.below,
        near.above,
        missing,
        tuple(sorted(gaps)[:COMPLETENESS_GAPS_SHOWN_MAX]),
        counts,
    )


def _verdict(missing: int, counts: dict[str, int], above: int) -> Verdict:
    if missing:
        return "gaps"
    if counts.get("rejected"):
        return "refused"
    return "complete" if above else "open"


def _edges(near: Around, first: int, last: int) -> Iterable[Range]:
    """Yields the gaps between the numbers of a period and their neighbors, or between the two
    neighbors if nothing arrived in the period."""
    if not first:
        if near.below and near.above > near.below + 1:
            yield near.below + 1, near.above - 1
        return
    if near.below and near.below + 1 < first:
        yield near.below + 1, first - 1
    if near.above > last + 1:
        yield last + 1, near.above - 1


def without(gap: Range, numbers: Sequence[int]) -> Iterable[Range]:
    """Yields the parts of a gap that contain none of `numbers` (ascending)."""
    at, last = gap
    for n in range(bisect_left(numbers, at), bisect_right(numbers, last)):
        if numbers[n] > at:
            yield at, numbers[n] - 1
        at = numbers[n] + 1
    if at <= last:
        yield at, last


def _sensor(
    sensor_id: int,
    channels: Sequence[ChannelReport],
    queues: tuple[QueueReport, ...],
    requests: int,
) -> SensorReport:
    found: set[Verdict] = {one.verdict for one in channels}
    found |= {"gaps" if one.missing else "complete" for one in queues}
    if requests and not queues:
        found.add("unnumbered")
    verdict: Verdict = next((one for one in _GRAVEST if one in found), "nothing")
    return SensorReport(sensor_id, verdict, tuple(channels), queues, requests)
