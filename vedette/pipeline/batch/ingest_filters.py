"""Ingress filters on the write path, with hit counts.

`use` and `take_counts` are thread-safe; `judge` belongs to the batch processor. Changed filters
apply from the next commit on.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any, Protocol

from vedette.ingest.filter import CompiledFilters, FilterEvaluator, Subject, apply_filters
from vedette.limits import Limit
from vedette.model.event import BinarySeen, Facts, Kept, Outcome
from vedette.model.host import SensorRef
from vedette.model.ingress_filter import FilterCounts
from vedette.model.metadata_rank import merge_ranked, ranked

FILTER_ANCESTORS_LOADED_MAX: Limit[int] = 4
"""Generations of parents that are loaded from the store if they are not in memory."""


class ProcessFacts(Protocol):
    """Metadata of processes (`SegmentAssigner`)."""

    def recall(self, process_ids: Iterable[str]) -> list[str]: ...

    def facts(self, process_id: str) -> dict[str, Any]: ...

    def cache_claims(self, process_id: str, values: dict[str, Any]) -> None: ...


class FilterVerdicts:
    """The processes of one commit whose events the filters drop."""

    __slots__ = ("_filters", "_memory", "_note", "_verdicts")

    def __init__(
        self,
        verdicts: dict[str, int],
        filters: CompiledFilters,
        memory: ProcessFacts,
        note: Callable[[FilterCounts], None],
    ) -> None:
        self._verdicts = verdicts
        self._filters = filters
        self._memory = memory
        self._note = note

    def kept(self, outcomes: list[Outcome], byte_count: int) -> list[Outcome]:
        """Returns the outcomes to store of a record with `byte_count` bytes. Keeps facts of dropped
        processes in memory, so that their later events are filtered too, and have metadata once the
        filter is removed."""
        dropped: list[tuple[Outcome, int]] = []
        kept = apply_filters(outcomes, self._verdicts, self._filters, dropped)
        if dropped:
            for outcome, _ in dropped:
                if type(outcome) is Facts:
                    claims = ranked(outcome.values, outcome.rank, outcome.time_us)
                    self._memory.cache_claims(outcome.process_id, claims)
            self._note(self._counted(dropped, byte_count / len(outcomes)))
        return kept

    def _counted(self, dropped: list[tuple[Outcome, int]], share: float) -> FilterCounts:
        """Counts the dropped outcomes by filter. Facts of a process are not an event, but have a
        share of the record's bytes."""
        counts = FilterCounts()
        for number in {number for _, number in dropped}:
            mine = [outcome for outcome, by in dropped if by == number]
            name = self._filters.filters[number].id
            counts.events[name] = sum(type(outcome) is not Facts for outcome in mine)
            counts.byte_counts[name] = round(share * len(mine))
        return counts


class IngestFilters:
    """The current filters, and their counts since the last `take_counts`."""

    def __init__(self, memory: ProcessFacts) -> None:
        self._memory = memory
        self._judge: FilterEvaluator | None = None
        self._counts = FilterCounts()
        self._lock = Lock()

    def use(self, filters: CompiledFilters) -> None:
        """Sets the filters from the next commit on."""
        self._judge = FilterEvaluator(filters, self._memory.facts) if filters else None

    def take_counts(self) -> FilterCounts:
        """Returns the counts since the last call."""
        with self._lock:
            counts, self._counts = self._counts, FilterCounts()
        return counts

    def _note(self, counts: FilterCounts) -> None:
        with self._lock:
            self._counts.add(counts)

    def judge(self, records: Iterable[tuple[SensorRef, list[Outcome]]]) -> FilterVerdicts | None:
        """Returns the verdicts for a commit, given the sensor and the outcomes of each record; None
        if nothing is dropped."""
        judge = self._judge
        if judge is None:
            return None
        subjects, facts = _collect(records)
        self._load(judge, subjects, facts)
        result = judge.evaluate(subjects, facts)
        self._note(FilterCounts(result.evaluated, result.hits))
        if not result.verdicts:
            return None
        return FilterVerdicts(result.verdicts, judge.filters, self._memory, self._note)

    def _load(
        self, judge: FilterEvaluator, subjects: dict[str, Subject], new: dict[str, dict[str, Any]]
    ) -> None:
        """Loads metadata of the processes, and of their ancestors if filters test ancestors."""
        loaded = self._memory.recall(subjects)
        if not judge.filters.inherited_mask:
            return
        # Parents of all other processes were loaded together with them.
        generation, facts = {*new, *loaded}, self._memory.facts
        for _ in range(FILTER_ANCESTORS_LOADED_MAX):
            parents = {
                (new.get(some) or {}).get("parent_id") or facts(some).get("parent_id", "")
                for some in generation
            }
            parents.discard("")
            generation = set(self._memory.recall(parents))
            if not generation:
                return


def _collect(
    records: Iterable[tuple[SensorRef, list[Outcome]]],
) -> tuple[dict[str, Subject], dict[str, dict[str, Any]]]:
    """Returns the processes of a commit with their sensors, and the commit's facts of processes."""
    subjects: dict[str, Subject] = {}
    facts: dict[str, dict[str, Any]] = {}
    sensors: dict[int, Subject] = {}
    for sensor, outcomes in records:
        subject = sensors.get(sensor.id)
        if subject is None:
            subject = Subject(sensor.id, sensor.group_id, sensor.os_type, sensor.takes_filters)
            sensors[sensor.id] = subject
        for outcome in outcomes:
            # Identity comparison, once for every event; mypy does not narrow the union by a stored
            # type.
            kind = type(outcome)
            if kind is BinarySeen or kind is Kept:
                continue
            process_id = outcome.process_id  # type: ignore[union-attr]
            if process_id not in subjects:
                subjects[process_id] = subject
            if isinstance(outcome, Facts):
                claims = ranked(outcome.values, outcome.rank, outcome.time_us)
                merge_ranked(facts.setdefault(process_id, {}), claims)
    return subjects, facts
