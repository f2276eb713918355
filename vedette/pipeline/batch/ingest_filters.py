"""The ingress filters in force on the write path, and how often each one means a process.

`use` may be called from any thread; the next commit is judged by the new filters. `judge` is for
whoever prepares.
"""

from collections.abc import Iterable
from threading import Lock
from typing import Any, Protocol

from vedette.ingest.filter import CompiledFilters, Judge, Subject, sift
from vedette.model.event import BinarySeen, Facts, Kept, Outcome
from vedette.model.host import SensorRef
from vedette.model.metadata_rank import merge_ranked, ranked

ANCESTORS_RECALLED = 4
"""Generations of parents that are read back from the store when they are not in memory."""


class Memory(Protocol):
    """What is known of processes (`SegmentAssigner`)."""

    def recall(self, process_ids: Iterable[str]) -> list[str]: ...

    def facts(self, process_id: str) -> dict[str, Any]: ...

    def remember(self, process_id: str, told: dict[str, Any]) -> None: ...


class Sifting:
    """What one commit leaves out."""

    __slots__ = ("_filters", "_memory", "_verdicts")

    def __init__(self, verdicts: dict[str, int], filters: CompiledFilters, memory: Memory) -> None:
        self._verdicts = verdicts
        self._filters = filters
        self._memory = memory

    def kept(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Those that are stored. What the others tell of a process is remembered, not stored:
        its later events are judged by it, and have it once the filter is gone."""
        kept = sift(outcomes, self._verdicts, self._filters)
        if len(kept) < len(outcomes):
            for outcome in outcomes:
                if type(outcome) is Facts and outcome.process_id in self._verdicts:
                    claims = ranked(outcome.values, outcome.rank, outcome.time_us)
                    self._memory.remember(outcome.process_id, claims)
        return kept


class Sieve:
    """See the module."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._judge: Judge | None = None
        self._looked_at = 0
        self._hits: dict[str, int] = {}
        self._lock = Lock()

    def use(self, filters: CompiledFilters) -> None:
        """From the next commit on, these are the filters."""
        self._judge = Judge(filters, self._memory.facts) if filters else None

    def counts(self) -> tuple[int, dict[str, int]]:
        """Processes judged since the last call, and how many of them each filter meant, by its
        id. A process counts once a commit."""
        with self._lock:
            counted = self._looked_at, self._hits
            self._looked_at, self._hits = 0, {}
        return counted

    def judge(self, told_by: Iterable[tuple[SensorRef, list[Outcome]]]) -> Sifting | None:
        """What a commit leaves out, by the sensor and the outcomes of each of its records; None
        when it is nothing."""
        judge = self._judge
        if judge is None:
            return None
        subjects, told = _gathered(told_by)
        self._recall(judge, subjects, told)
        meant = judge.judge(subjects, told)
        with self._lock:
            self._looked_at += meant.looked_at
            for name, count in meant.hits.items():
                self._hits[name] = self._hits.get(name, 0) + count
        if not meant.verdicts:
            return None
        return Sifting(meant.verdicts, judge.filters, self._memory)

    def _recall(
        self, judge: Judge, subjects: dict[str, Subject], told: dict[str, dict[str, Any]]
    ) -> None:
        read_back = self._memory.recall(subjects)
        if not judge.filters.levelled:
            return
        # The parents of all others were read back when those were met first.
        generation, facts = {*told, *read_back}, self._memory.facts
        for _ in range(ANCESTORS_RECALLED):
            parents = {
                (told.get(some) or {}).get("parent_id") or facts(some).get("parent_id", "")
                for some in generation
            }
            parents.discard("")
            generation = set(self._memory.recall(parents))
            if not generation:
                return


def _gathered(
    told_by: Iterable[tuple[SensorRef, list[Outcome]]],
) -> tuple[dict[str, Subject], dict[str, dict[str, Any]]]:
    """The processes of a commit with their sensors, and what it tells of processes."""
    subjects: dict[str, Subject] = {}
    told: dict[str, dict[str, Any]] = {}
    sensors: dict[int, Subject] = {}
    for sensor, outcomes in told_by:
        subject = sensors.get(sensor.id)
        if subject is None:
            subject = Subject(sensor.id, sensor.group_id, sensor.os_type, sensor.takes_filters)
            sensors[sensor.id] = subject
        for outcome in outcomes:
            kind = type(outcome)
            if kind is BinarySeen or kind is Kept:
                continue
            process_id = outcome.process_id  # type: ignore[union-attr]
            if process_id not in subjects:
                subjects[process_id] = subject
            if kind is Facts:
                claims = ranked(outcome.values, outcome.rank, outcome.time_us)  # type: ignore[union-attr]
                merge_ranked(told.setdefault(process_id, {}), claims)
    return subjects, told
