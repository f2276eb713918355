"""Dry run of ingress filters: what they would have dropped of the last day.

The compiled filter runs over the stored processes, so the result is what the write path would do.
Where a filter drops single events, their number is estimated from a sample of matching processes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vedette.ingest.filter import CompiledFilters, apply_filters, compile_filters
from vedette.ingest.filter.compile import DEPTH_MAX
from vedette.limits import DRY_RUN_EVENT_PROCESSES_MAX, DRY_RUN_PROCESSES_MAX
from vedette.model.host import SensorRef
from vedette.model.ingress_filter import ALL_DESCENDANTS, IngressFilter
from vedette.model.scope import EVERYTHING
from vedette.store.engine.client import Engine
from vedette.store.read.process import events
from vedette.store.read.recent_processes import DayProcess, processes_since

DAY_US: Final = 24 * 3600 * 1_000_000

_EVENTS_READ: Final = 10_000
"""Events of one process that a sample reads."""


@dataclass(frozen=True, slots=True)
class Blinded:
    """A detection that would miss hits with the filter in force."""

    kind: str
    """watchlist, feed or rule."""
    id: str
    name: str
    hits: int
    """Of the last day that would be missed."""


BlindedBy = Callable[[Engine, Sequence[IngressFilter], int], list[Blinded]]
"""One kind of detection: the hits that filters would suppress, since a time."""

DETECTIONS: Final[tuple[BlindedBy, ...]] = ()
"""The kinds of detection."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of the dry run of one filter."""

    filter_id: str
    processes: int
    """Examined: those of the last day; the newest where there are too many."""
    processes_meant: int
    """Matching ones, with descendants."""
    events: int
    events_dropped: int
    is_estimate: bool
    """Whether `events_dropped` is estimated from a sample."""
    is_partial: bool
    """Whether there were more processes than examined."""


def try_filters(
    engine: Engine,
    sensors: Mapping[int, SensorRef],
    wanted: Sequence[IngressFilter],
    now_us: int,
) -> list[Trial]:
    """A dry run for each filter, as if it were the only one, enabled and enforced by the server."""
    return [_try(engine, sensors, one, now_us - DAY_US) for one in wanted]


def blinded_by(engine: Engine, wanted: Sequence[IngressFilter], now_us: int) -> list[Blinded]:
    """Detections of all kinds that would miss hits of the last day."""
    return [found for ask in DETECTIONS for found in ask(engine, wanted, now_us - DAY_US)]


def _try(
    engine: Engine, sensors: Mapping[int, SensorRef], wanted: IngressFilter, since_us: int
) -> Trial:
    enforced = replace(wanted, enabled=True, filter_on_server=True, filter_on_sensor=False)
    filters = compile_filters([enforced])
    counts: dict[str, int] = {}
    parents: dict[str, str] = {}
    meant: set[str] = set()
    for process in processes_since(engine, since_us, DRY_RUN_PROCESSES_MAX):
        counts[process.process_id] = process.events
        if not _is_here(filters, sensors.get(process.sensor_id)):
            continue
        if filters.own(process.path, process.cmdline, process.md5):
            meant.add(process.process_id)
        if filters.inherited_mask and process.parent_id:
            parents[process.process_id] = process.parent_id
            if process.parent_id not in parents and _means_parent(filters, process):
                meant.add(process.parent_id)
    if filters.inherited_mask:
        meant |= _descendants(meant, parents, wanted.descendant_filtering_level)
    meant &= counts.keys()
    dropped = sum(counts[process_id] for process_id in meant)
    sample = sorted(meant)[:DRY_RUN_EVENT_PROCESSES_MAX]
    if not wanted.filter_all_events:
        dropped = _of_sample(engine, filters, sample, dropped)
    return Trial(
        wanted.id,
        len(counts),
        len(meant),
        sum(counts.values()),
        dropped,
        is_estimate=not wanted.filter_all_events and len(sample) < len(meant),
        is_partial=len(counts) >= DRY_RUN_PROCESSES_MAX,
    )


def _is_here(filters: CompiledFilters, sensor: SensorRef | None) -> bool:
    return sensor is not None and bool(
        filters.of_sensor(sensor.id, sensor.group_id, sensor.os_type, False)
    )


def _means_parent(filters: CompiledFilters, process: DayProcess) -> bool:
    return bool(filters.own(process.parent_path, process.parent_cmdline, process.parent_md5))


def _descendants(meant: set[str], parents: Mapping[str, str], level: int) -> set[str]:
    steps = DEPTH_MAX if level == ALL_DESCENDANTS else level
    found = set()
    for process_id in parents:
        parent_id = parents.get(process_id, "")
        for _ in range(steps):
            if not parent_id:
                break
            if parent_id in meant:
                found.add(process_id)
                break
            parent_id = parents.get(parent_id, "")
    return found


def _of_sample(engine: Engine, filters: CompiledFilters, sample: list[str], most: int) -> int:
    """Events dropped of all that are meant, by the share in the sample."""
    read = dropped = 0
    for process_id in sample:
        found = events(engine, process_id, EVERYTHING, count=_EVENTS_READ).by_kind
        sampled: list[Any] = [event for kind in found.values() for event in kind]
        read += len(sampled)
        dropped += len(sampled) - len(apply_filters(sampled, {process_id: filters.thins}, filters))
    return round(most * dropped / read) if read else 0
