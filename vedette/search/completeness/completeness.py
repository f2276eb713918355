"""Whether all that was sent in a time is stored (docs/completeness.md).

A host's event logs number their records, and our sensor numbers its blocks. What arrived in a time
has to be one run of numbers, joined to those that arrived before and after. Times are those of
arrival, in whole windows. What has no dense numbers cannot be checked, and is said to be so.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from vedette.limits import (
    COMPLETENESS_AROUND_DAYS,
    COMPLETENESS_GAPS_SHOWN_MAX,
    SEGMENT_WINDOW_MS,
)
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

Verdict = Literal["complete", "open", "refused", "gaps", "unnumbered", "nothing"]

NOT_DENSE: Final = frozenset({"auditd"})
"""Channels whose numbers tell records apart and leave holes by nature."""

_DAY_MS: Final = 24 * 3600 * 1_000
_NONE: Final = Around(0, 0)
_GRAVEST: Final[tuple[Verdict, ...]] = (
    "gaps", "refused", "open", "unnumbered", "complete", "nothing",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Window:
    """A time of arrival, [from, until), in whole windows of five minutes."""

    from_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """What is known of one channel of a host. `first` and `last` of what arrived, 0: nothing;
    `below` and `above` are its neighbours that arrived at other times, 0: none did."""

    channel: str
    verdict: Verdict
    received: int
    first: int
    last: int
    below: int
    above: int
    missing: int
    gaps: tuple[Range, ...]
    """At most `COMPLETENESS_GAPS_SHOWN_MAX`."""
    unstored: dict[str, int]
    """How many arrived and made no row, by outcome."""


@dataclass(frozen=True, slots=True)
class QueueReport:
    """The blocks of a queue of our sensor, of all times: blocks that are missing have none."""

    epoch: str
    received_to: int
    missing: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class SensorReport:
    """What is known of one sensor."""

    sensor_id: int
    verdict: Verdict
    channels: tuple[ChannelReport, ...]
    queues: tuple[QueueReport, ...]
    unnumbered_requests: int


def unmounted(engine: Engine, window: Window) -> list[str]:
    """Partitions that may hold what arrived in a window, and are not searched."""
    return [
        one.name
        for one in list_partitions(engine)
        if one.state == "cold"
        and one.opened_ms < window.until_ms
        and one.closed_ms > window.from_ms
    ]


def whole_windows(from_us: int, until_us: int) -> Window:
    """The windows that a time touches."""
    step = SEGMENT_WINDOW_MS
    return Window(from_us // 1_000 // step * step, -(-until_us // 1_000 // step) * step)


def completeness(
    engine: Engine,
    sensor_ids: Sequence[int],
    window: Window,
    channel_names: dict[int, str],
    queues: dict[int, tuple[QueueReport, ...]],
) -> list[SensorReport]:
    """One report a sensor, in the order given; the caller answers for the scope. `queues` are
    those that changed since the window began. Raises UnavailableError at the deadline."""
    reach = COMPLETENESS_AROUND_DAYS * _DAY_MS
    times = (max(0, window.from_ms - reach), window.from_ms, window.until_ms,
             window.until_ms + reach)  # fmt: skip
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
        name, verdict, received, first, last, near.below, near.above, missing,
        tuple(sorted(gaps)[:COMPLETENESS_GAPS_SHOWN_MAX]), counts,
    )  # fmt: skip


def _verdict(missing: int, counts: dict[str, int], above: int) -> Verdict:
    if missing:
        return "gaps"
    if counts.get("rejected"):
        return "refused"
    return "complete" if above else "open"


def _edges(near: Around, first: int, last: int) -> Iterable[Range]:
    """Gaps between what arrived in a time and its neighbours; between the neighbours themselves
    where nothing arrived."""
    if not first:
        if near.below and near.above > near.below + 1:
            yield near.below + 1, near.above - 1
        return
    if near.below and near.below + 1 < first:
        yield near.below + 1, first - 1
    if near.above > last + 1:
        yield last + 1, near.above - 1


def without(gap: Range, numbers: Sequence[int]) -> Iterable[Range]:
    """The parts of a gap that no number fills; `numbers` ascend."""
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
