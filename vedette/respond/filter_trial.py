"""Dry run of ingress filters: what they would have dropped of the last day.

The compiled filter runs over the stored processes, so the result is what the write path would do.
Where a filter drops single events, their number is estimated from a sample of matching processes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vedette.ingest.filter import CompiledFilters, apply_filters, compile_filters
from vedette.limits import (
    DRY_RUN_EVENT_PROCESSES_MAX,
    DRY_RUN_EVENTS_MAX,
    DRY_RUN_PROCESSES_MAX,
    FILTER_ANCESTORS_MAX,
)
from vedette.model.event import ProcessEvent
from vedette.model.host import SensorRef
from vedette.model.ingress_filter import ALL_DESCENDANTS, IngressFilter
from vedette.model.scope import EVERYTHING
from vedette.store.engine.client import Engine
from vedette.store.read.process import events
from vedette.store.read.recent_processes import DayProcess, processes_since

DAY_US: Final = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Blinded:
    """A detection that would miss hits with the filter in force."""

    kind: str
    """watchlist, feed or rule."""
    id: str
    name: str
    hits: int
    """Of the last day that would be missed."""


@dataclass(frozen=True, slots=True)
class FilterEffect:
    """What one filter would have done to stored processes, were it in force."""

    filters: CompiledFilters
    processes: frozenset[str]
    """Those that it means, with descendants."""
    drops_all: bool
    """Whether nothing is stored of them; else single events are dropped."""

    def kept(self, process_id: str, found: Sequence[ProcessEvent]) -> list[ProcessEvent]:
        """The events of a process that are left."""
        if process_id not in self.processes:
            return list(found)
        if self.drops_all:
            return []
        outcomes: list[Any] = list(found)
        kept: list[Any] = apply_filters(outcomes, {process_id: self.filters.thins}, self.filters)
        return kept


BlindedBy = Callable[[Engine, Sequence[FilterEffect], int], list[Blinded]]
"""One kind of detection: the hits since a time that filters would have suppressed."""


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


def blinded_by(
    engine: Engine,
    sensors: Mapping[int, SensorRef],
    wanted: Sequence[IngressFilter],
    now_us: int,
    detections: Sequence[BlindedBy],
) -> list[Blinded]:
    """Detections of some kinds that would miss hits of the last day, were all filters in force."""
    since_us = now_us - DAY_US
    effects = [_effect(engine, sensors, one, since_us) for one in wanted]
    return [found for ask in detections for found in ask(engine, effects, since_us)]


def _effect(
    engine: Engine, sensors: Mapping[int, SensorRef], wanted: IngressFilter, since_us: int
) -> FilterEffect:
    filters = _enforced(wanted)
    _, matched = _meant(engine, sensors, wanted, filters, since_us)
    return FilterEffect(filters, frozenset(matched), wanted.filter_all_events)


def _try(
    engine: Engine, sensors: Mapping[int, SensorRef], wanted: IngressFilter, since_us: int
) -> Trial:
    filters = _enforced(wanted)
    counts, matched = _meant(engine, sensors, wanted, filters, since_us)
    dropped = sum(counts[process_id] for process_id in matched)
    sample = sorted(matched)[:DRY_RUN_EVENT_PROCESSES_MAX]
    if not wanted.filter_all_events:
        dropped = _of_sample(engine, filters, sample, dropped)
    return Trial(
        wanted.id,
        len(counts),
        len(matched),
        sum(counts.values()),
        dropped,
        is_estimate=not wanted.filter_all_events and len(sample) < len(matched),
        is_partial=len(counts) >= DRY_RUN_PROCESSES_MAX,
    )


def _enforced(wanted: IngressFilter) -> CompiledFilters:
    """The filter as if it were in force on the server."""
    enforced = replace(wanted, enabled=True, filter_on_server=True, filter_on_sensor=False)
    return compile_filters([enforced])


def _meant(
    engine: Engine,
    sensors: Mapping[int, SensorRef],
    wanted: IngressFilter,
    filters: CompiledFilters,
    since_us: int,
) -> tuple[dict[str, int], set[str]]:
    """Events of the processes since a time, and those processes that the filter means."""
    counts: dict[str, int] = {}
    parents: dict[str, str] = {}
    matched: set[str] = set()
    for process in processes_since(engine, since_us, DRY_RUN_PROCESSES_MAX):
        counts[process.process_id] = process.events
        if not _is_here(filters, sensors.get(process.sensor_id)):
            continue
        if filters.own(process.path, process.cmdline, process.md5):
            matched.add(process.process_id)
        if filters.inherited_mask and process.parent_id:
            parents[process.process_id] = process.parent_id
            if process.parent_id not in parents and _matches_parent(filters, process):
                matched.add(process.parent_id)
    if filters.inherited_mask:
        matched |= _descendants(matched, parents, wanted.descendant_filtering_level)
    matched &= counts.keys()
    return counts, matched


def _is_here(filters: CompiledFilters, sensor: SensorRef | None) -> bool:
    return sensor is not None and bool(
        filters.of_sensor(sensor.id, sensor.group_id, sensor.os_type, False)
    )


def _matches_parent(filters: CompiledFilters, process: DayProcess) -> bool:
    return bool(filters.own(process.parent_path, process.parent_cmdline, process.parent_md5))


def _descendants(matched: set[str], parents: Mapping[str, str], level: int) -> set[str]:
    steps = FILTER_ANCESTORS_MAX if level == ALL_DESCENDANTS else level
    found = set()
    for process_id in parents:
        parent_id = parents.get(process_id, "")
        for _ in range(steps):
            if not parent_id:
                break
            if parent_id in matched:
                found.add(process_id)
                break
            parent_id = parents.get(parent_id, "")
    return found


def _of_sample(engine: Engine, filters: CompiledFilters, sample: list[str], most: int) -> int:
    """Events dropped of all that are matched, by the fraction in the sample."""
    read = dropped = 0
    for process_id in sample:
        found = events(engine, process_id, EVERYTHING, count=DRY_RUN_EVENTS_MAX).by_kind
        sampled: list[Any] = [event for kind in found.values() for event in kind]
        read += len(sampled)
        dropped += len(sampled) - len(apply_filters(sampled, {process_id: filters.thins}, filters))
    return round(most * dropped / read) if read else 0
