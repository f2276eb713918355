"""Dry run of ingress filters: what they would have dropped of the last day, and of what.

The compiled filter runs over the stored processes, so the result is what the write path would do.
Where a filter drops single events, their number is estimated from a sample of matching processes.
"""

import time
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vedette.ingest.filter import CompiledFilters, apply_filters, compile_filters
from vedette.limits import (
    DRY_RUN_EVENT_PROCESSES_MAX,
    DRY_RUN_EVENTS_MAX,
    DRY_RUN_PROCESSES_MAX,
    DRY_RUN_PROGRESS_EVERY,
    DRY_RUN_SPLIT_MAX,
    FILTER_ANCESTORS_MAX,
)
from vedette.model.columns import EVENT_KINDS, KIND_BY_STRUCT
from vedette.model.event import ProcessEvent
from vedette.model.host import SensorRef
from vedette.model.ingress_filter import ALL_DESCENDANTS, IngressFilter
from vedette.model.scope import EVERYTHING
from vedette.store.engine.client import Engine
from vedette.store.read.process import events
from vedette.store.read.recent_processes import (
    DayProcess,
    count_processes_since,
    processes_since,
)

DAY_US: Final = 24 * 3600 * 1_000_000
_KINDS: Final = tuple(kind.name for kind in EVENT_KINDS)

OnProgress = Callable[[str, int, int], None]
"""Called with how far a dry run is: what it looks at (`processes`, `watchlists`, `rules`), at how
many of them it has looked, and how many there are. Raises where nobody waits for it any more."""


def no_progress(_what: str, _done: int, _of: int) -> None:
    """For dry runs that nobody follows."""


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
    processes: Collection[str]
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


BlindedBy = Callable[[Engine, Sequence[FilterEffect], int, OnProgress], list[Blinded]]
"""One kind of detection: the hits since a time that filters would have suppressed."""


@dataclass(frozen=True, slots=True)
class Split:
    """Events that are dropped, by what they are of: those with the most, of so many."""

    values: Sequence[tuple[str, int]]
    total: int


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
    by_kind: Split
    by_sensor: Split
    """Ids of sensors as text."""
    by_path: Split
    """Programs, by their path."""
    is_estimate: bool
    """Whether `events_dropped` is estimated from a sample."""
    is_partial: bool
    """Whether there were more processes than examined, or than there was time for."""


@dataclass(slots=True)
class _Read:
    """The processes of a day as far as a filter needs them, by number; kept in columns, since they
    can be half a million."""

    processes: int = 0
    events: int = 0
    is_partial: bool = False
    numbers: dict[str, int] = field(default_factory=dict)
    sensors: "array[int]" = field(default_factory=lambda: array("I"))
    paths: "array[int]" = field(default_factory=lambda: array("I"))
    counts: "array[int]" = field(default_factory=lambda: array("Q"))
    path_numbers: dict[str, int] = field(default_factory=dict)

    def keep(self, process: DayProcess) -> None:
        self.numbers[process.process_id] = len(self.numbers)
        self.sensors.append(process.sensor_id)
        self.paths.append(self.path_numbers.setdefault(process.path, len(self.path_numbers)))
        self.counts.extend(process.counts)

    def counts_of(self, process_id: str) -> "array[int]":
        start = self.numbers[process_id] * len(_KINDS)
        return self.counts[start : start + len(_KINDS)]


class _Dropped:
    """Counts what is dropped."""

    def __init__(self, read: _Read) -> None:
        self._read = read
        self._paths = tuple(read.path_numbers)
        self.total = 0
        self.kinds: Counter[str] = Counter()
        self.sensors: Counter[str] = Counter()
        self.paths: Counter[str] = Counter()

    def add(self, process_id: str, kinds: Iterable[tuple[str, int]]) -> None:
        number = self._read.numbers[process_id]
        total = 0
        for kind, count in kinds:
            if count:
                self.kinds[kind] += count
                total += count
        if total:
            self.total += total
            self.sensors[str(self._read.sensors[number])] += total
            self.paths[self._paths[self._read.paths[number]]] += total


def check_filters(
    engine: Engine,
    sensors: Mapping[int, SensorRef],
    wanted: Sequence[IngressFilter],
    now_us: int,
    detections: Sequence[BlindedBy],
    until_s: float,
    on_progress: OnProgress = no_progress,
) -> tuple[list[Trial], list[Blinded]]:
    """A dry run for each filter, as if it were the only one, enabled and enforced by the server;
    and the detections of some kinds that would miss hits of the last day, were all in force.

    At `until_s` (time.monotonic) no more processes are looked at."""
    since_us = now_us - DAY_US
    of = min(count_processes_since(engine, since_us), DRY_RUN_PROCESSES_MAX)
    trials: list[Trial] = []
    effects: list[FilterEffect] = []
    for at, one in enumerate(wanted):
        begun_s = time.monotonic()
        mine_s = begun_s + max(0.0, until_s - begun_s) / (len(wanted) - at)
        filters = _enforced(one)
        read, matched = _meant(engine, sensors, one, filters, since_us, mine_s, of, on_progress)
        trials.append(_trial(engine, one, filters, read, matched))
        effects.append(FilterEffect(filters, matched, one.filter_all_events))
    return trials, [
        found for ask in detections for found in ask(engine, effects, since_us, on_progress)
    ]


def _trial(
    engine: Engine,
    wanted: IngressFilter,
    filters: CompiledFilters,
    read: _Read,
    matched: Collection[str],
) -> Trial:
    dropped = _Dropped(read)
    sample = sorted(matched)[:DRY_RUN_EVENT_PROCESSES_MAX]
    scale = 1.0
    if wanted.filter_all_events:
        for process_id in matched:
            dropped.add(process_id, zip(_KINDS, read.counts_of(process_id), strict=True))
    else:
        looked_at = _sampled(engine, filters, sample, dropped)
        meant = sum(sum(read.counts_of(process_id)) for process_id in matched)
        scale = meant / looked_at if looked_at else 0.0
    return Trial(
        wanted.id,
        read.processes,
        len(matched),
        read.events,
        round(dropped.total * scale),
        _split(dropped.kinds, scale),
        _split(dropped.sensors, scale),
        _split(dropped.paths, scale),
        is_estimate=not wanted.filter_all_events and len(sample) < len(matched),
        is_partial=read.is_partial,
    )


def _split(counted: Counter[str], scale: float) -> Split:
    most = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:DRY_RUN_SPLIT_MAX]
    return Split([(name, round(count * scale)) for name, count in most], len(counted))


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
    until_s: float,
    of: int,
    on_progress: OnProgress,
) -> tuple[_Read, set[str]]:
    """The processes since a time, and those that the filter means."""
    read = _Read()
    parents: dict[str, str] = {}
    matched: set[str] = set()
    with closing(processes_since(engine, since_us, DRY_RUN_PROCESSES_MAX)) as found:
        for process in found:
            if not read.processes % DRY_RUN_PROGRESS_EVERY:
                on_progress("processes", read.processes, max(of, read.processes))
                read.is_partial = time.monotonic() > until_s
                if read.is_partial:
                    break
            read.processes += 1
            read.events += process.events
            if not _is_here(filters, sensors.get(process.sensor_id)):
                continue
            is_meant = filters.own(process.path, process.cmdline, process.md5)
            if is_meant:
                matched.add(process.process_id)
            if is_meant or filters.inherited_mask:
                read.keep(process)
            if filters.inherited_mask and process.parent_id:
                parents[process.process_id] = process.parent_id
                if process.parent_id not in parents and _matches_parent(filters, process):
                    matched.add(process.parent_id)
    read.is_partial |= read.processes >= DRY_RUN_PROCESSES_MAX
    if filters.inherited_mask:
        matched |= _descendants(matched, parents, wanted.descendant_filtering_level)
    matched &= read.numbers.keys()
    return read, matched


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


def _sampled(
    engine: Engine, filters: CompiledFilters, sample: Iterable[str], dropped: _Dropped
) -> int:
    """Adds what the filter drops of some processes; returns how many events were looked at."""
    read = 0
    for process_id in sample:
        found = events(engine, process_id, EVERYTHING, count=DRY_RUN_EVENTS_MAX).by_kind
        sampled: list[Any] = [event for kind in found.values() for event in kind]
        gone: list[tuple[Any, int]] = []
        apply_filters(sampled, {process_id: filters.thins}, filters, gone)
        read += len(sampled)
        dropped.add(process_id, Counter(KIND_BY_STRUCT[type(one)].name for one, _ in gone).items())
    return read
