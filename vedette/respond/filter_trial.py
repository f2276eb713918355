"""Dry run of ingress filters over the last day: events that they would have dropped, and detections
that they would blind.

The compiled filter runs over the stored processes, so the result equals that of the write path. If
a filter drops single events, their number is estimated from a sample of matching processes.
"""

import time
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Final

from vedette.ingest.filter import CompiledFilters, apply_filters, compile_filters
from vedette.limits import DRY_RUN_EVENTS_MAX, FILTER_ANCESTORS_MAX, Limit
from vedette.model.columns import EVENT_KINDS, KIND_BY_STRUCT
from vedette.model.event import ProcessEvent
from vedette.model.host import SensorRef
from vedette.model.ingress_filter import ALL_DESCENDANTS
from vedette.model.scope import EVERYTHING
from vedette.record.objects.ingress_filter import IngressFilter
from vedette.store.engine.client import Engine
from vedette.store.read.process import events
from vedette.store.read.recent_processes import (
    DayProcess,
    count_processes_since,
    processes_since,
)

DRY_RUN_PROCESSES_MAX: Limit[int] = 500_000
"""Maximum processes of a dry run; it reads the newest."""

DRY_RUN_EVENT_PROCESSES_MAX: Limit[int] = 200
"""Maximum processes of a dry run whose single events are read."""

DRY_RUN_SPLIT_MAX: Limit[int] = 10
"""Maximum hosts, programs and event kinds in the breakdown of a dry run: those with the most
dropped events."""

DRY_RUN_PROGRESS_EVERY: Limit[int] = 10_000
"""Number of processes after which a dry run reports progress and checks for cancellation."""


DAY_US: Final = 24 * 3600 * 1_000_000
_KINDS: Final = tuple(kind.name for kind in EVENT_KINDS)

OnProgress = Callable[[str, int, int], None]
"""Progress callback of a dry run: (phase, done, total). The phase is `processes`, `watchlists` or
`rules`. Raises if the dry run is cancelled."""


def no_progress(_what: str, _done: int, _of: int) -> None:
    """Progress callback that does nothing."""


@dataclass(frozen=True, slots=True)
class Blinded:
    """A detection that would miss hits with the filter in force."""

    kind: str
    """watchlist, feed or rule."""
    id: str
    name: str
    hits: int
    """Hits of the last day that it would miss."""


@dataclass(frozen=True, slots=True)
class FilterEffect:
    """Effect that one filter would have had on stored processes."""

    filters: CompiledFilters
    processes: Collection[str]
    """Ids of the matching processes and their descendants."""
    drops_all: bool
    """Whether the filter drops all their events; if not, it drops single events."""

    def kept(self, process_id: str, found: Sequence[ProcessEvent]) -> list[ProcessEvent]:
        """Returns the events of a process that the filter would keep."""
        if process_id not in self.processes:
            return list(found)
        if self.drops_all:
            return []
        outcomes: list[Any] = list(found)
        kept: list[Any] = apply_filters(outcomes, {process_id: self.filters.thins}, self.filters)
        return kept


BlindedBy = Callable[[Engine, Sequence[FilterEffect], int, OnProgress], list[Blinded]]
"""Function of one kind of detection: returns the detections with hits since a time (µs) that the
filters would have suppressed."""


@dataclass(frozen=True, slots=True)
class Split:
    """Breakdown of dropped events: the most frequent values with their counts, and the number of
    all values."""

    values: Sequence[tuple[str, int]]
    total: int


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of the dry run of one filter."""

    filter_id: str
    processes: int
    """Number of processes read: those of the last day, or the newest of them."""
    processes_meant: int
    """Number of matching processes, with descendants."""
    events: int
    events_dropped: int
    by_kind: Split
    by_sensor: Split
    """Breakdown by sensor id, as a string."""
    by_path: Split
    """Breakdown by program path."""
    is_estimate: bool
    """Whether `events_dropped` is estimated from a sample."""
    is_partial: bool
    """Whether the limit of processes or the deadline ended the dry run early."""


@dataclass(slots=True)
class _Read:
    """Data about the processes of a day that a filter needs, in columns by process number, because
    there can be half a million."""

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
    """Counts dropped events by kind, sensor and program."""

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
    """Runs each filter over the last day as if it were the only filter, enabled on the server. Also
    returns the detections that would have missed hits if all filters were in force.

    Reads no more processes after `until_s` (time.monotonic).
    """
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
    """Compiles the filter as if it were in force on the server."""
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
    """Returns the processes since `since_us`, and the ids of those that the filter matches."""
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
    """Adds the events of the sample that the filter drops. Returns the number of events read."""
    read = 0
    for process_id in sample:
        found = events(engine, process_id, EVERYTHING, count=DRY_RUN_EVENTS_MAX).by_kind
        sampled: list[Any] = [event for kind in found.values() for event in kind]
        gone: list[tuple[Any, int]] = []
        apply_filters(sampled, {process_id: filters.thins}, filters, gone)
        read += len(sampled)
        dropped.add(process_id, Counter(KIND_BY_STRUCT[type(one)].name for one, _ in gone).items())
    return read
