"""Ingress filters on the write path, with hit counts.

`use` and `take_counts` are thread-safe; `judge` belongs to the batch processor. Changed filters
apply from the next commit on.
"""

from collections.abc import Iterable
from threading import Lock
from typing import Any, Protocol

from vedette.ingest.filter import CompiledFilters, FilterEvaluator, Subject, apply_filters
from vedette.limits import FILTER_ANCESTORS_LOADED_MAX
from vedette.model.event import BinarySeen, Facts, Kept, Outcome
from vedette.model.host import SensorRef
from vedette.model.metadata_rank import merge_ranked, ranked


class ProcessFacts(Protocol):
    """Metadata of processes (`SegmentAssigner`)."""

    def recall(self, process_ids: Iterable[str]) -> list[str]: ...

    def facts(self, process_id: str) -> dict[str, Any]: ...

    def cache_claims(self, process_id: str, values: dict[str, Any]) -> None: ...


class FilterVerdicts:
    """Which processes' events the filters drop from one commit."""

    __slots__ = ("_filters", "_memory", "_verdicts")

    def __init__(
        self, verdicts: dict[str, int], filters: CompiledFilters, memory: ProcessFacts
    ) -> None:
        self._verdicts = verdicts
        self._filters = filters
        self._memory = memory

    def kept(self, outcomes: list[Outcome]) -> list[Outcome]:
        """The outcomes that are stored. Facts of dropped processes are kept in memory, so that
        their later events are filtered too, and have metadata once the filter is removed."""
        kept = apply_filters(outcomes, self._verdicts, self._filters)
        if len(kept) < len(outcomes):
            for outcome in outcomes:
                if type(outcome) is Facts and outcome.process_id in self._verdicts:
                    claims = ranked(outcome.values, outcome.rank, outcome.time_us)
                    self._memory.cache_claims(outcome.process_id, claims)
        return kept


class IngestFilters:
    """The current filters, and their hit counts since the last `take_counts`."""

    def __init__(self, memory: ProcessFacts) -> None:
        self._memory = memory
        self._judge: FilterEvaluator | None = None
        self._judged = 0
        self._hits: dict[str, int] = {}
        self._lock = Lock()

    def use(self, filters: CompiledFilters) -> None:
        """Sets the filters from the next commit on."""
        self._judge = FilterEvaluator(filters, self._memory.facts) if filters else None

    def take_counts(self) -> tuple[int, dict[str, int]]:
        """Processes judged since the last call, and matches by filter id. A process counts once
        per commit."""
        with self._lock:
            counts = self._judged, self._hits
            self._judged, self._hits = 0, {}
        return counts

    def judge(self, records: Iterable[tuple[SensorRef, list[Outcome]]]) -> FilterVerdicts | None:
        """The verdicts for a commit, given the sensor and the outcomes of each of its records;
        None when nothing is dropped."""
        judge = self._judge
        if judge is None:
            return None
        subjects, facts = _collect(records)
        self._load(judge, subjects, facts)
        result = judge.evaluate(subjects, facts)
        with self._lock:
            self._judged += result.evaluated
            for name, count in result.hits.items():
                self._hits[name] = self._hits.get(name, 0) + count
        if not result.verdicts:
            return None
        return FilterVerdicts(result.verdicts, judge.filters, self._memory)

    def _load(
        self, judge: FilterEvaluator, subjects: dict[str, Subject], new: dict[str, dict[str, Any]]
    ) -> None:
        """Loads metadata of the processes, and of their ancestors where filters test these."""
        loaded = self._memory.recall(subjects)
        if not judge.filters.inherited_mask:
            return
        # The parents of all others were loaded together with them.
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
    """The processes of a commit with their sensors, and the facts it has of processes."""
    subjects: dict[str, Subject] = {}
    facts: dict[str, dict[str, Any]] = {}
    sensors: dict[int, Subject] = {}
    for sensor, outcomes in records:
        subject = sensors.get(sensor.id)
        if subject is None:
            subject = Subject(sensor.id, sensor.group_id, sensor.os_type, sensor.takes_filters)
            sensors[sensor.id] = subject
        for outcome in outcomes:
            # Compared by identity, once for every event; mypy narrows no union by a kept type.
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
