"""Evaluates ingress filters for the processes of a batch, by their metadata and ancestors.

A process is evaluated by its best known path, command line and md5 when its records are stored.
Rows that were stored before better metadata arrived are not removed. An ancestor without metadata
of its own is evaluated by the parent fields of its child.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vedette.ingest.context.two_generation_cache import GenerationCache
from vedette.ingest.filter.compile import CompiledFilters, highest
from vedette.limits import Limit
from vedette.model.metadata_rank import merge_ranked

FILTER_PROCESSES_CACHED: Limit[int] = 200_000
"""Maximum processes whose filters are cached, about 0.2 kB each."""


Facts = Mapping[str, Any]
"""Metadata columns of a process (`model/columns.py`); {} if unknown."""


def dropped_whole(number: int) -> int:
    """Returns the value in `Evaluation.verdicts` for a process whose events are all dropped.
    `number` is the filter with the highest priority that drops them. The value is negative, unlike
    any mask. The function is its own inverse."""
    return ~number


class Subject(NamedTuple):
    """Sensor of a process."""

    sensor_id: int
    group_id: int
    os_type: str
    takes_filters: bool
    """Whether the sensor applies `filter_on_sensor` filters itself."""


class Evaluation(NamedTuple):
    """Result for a batch."""

    verdicts: dict[str, int]
    """Maps process id, only for processes that lose events, to `dropped_whole` or the mask of
    filters whose event lists apply."""
    evaluated: int
    """Number of processes evaluated."""
    hits: dict[str, int]
    """Number of processes that each filter matches directly, not as descendants, by filter id."""


class _Entry(NamedTuple):
    """Cached result for a process."""

    own: int
    """Mask of filters that match the process directly."""
    parent_id: str
    inherited: int
    """Mask of filters that match the process as a descendant."""
    epoch: int
    """Epoch of `inherited`, which is valid only during the evaluator's current epoch."""


class FilterEvaluator:
    """Evaluator with a cache: a process is looked up once until its metadata change.

    When metadata of any ancestor change, a new epoch invalidates all inherited masks. That is rare,
    because new processes of a batch are usually not ancestors yet.
    """

    def __init__(self, filters: CompiledFilters, facts: Callable[[str], Facts]) -> None:
        """`facts` returns stored metadata of a process, in addition to those of the batch."""
        self.filters = filters
        self._facts = facts
        self._known: GenerationCache[str, _Entry] = GenerationCache(FILTER_PROCESSES_CACHED)
        self._unknown_ancestors: set[str] = set()
        """Ancestors that were looked up and are unknown."""
        self._epoch = 0

    def evaluate(
        self, subjects: Mapping[str, Subject], batch_facts: Mapping[str, Mapping[str, Any]]
    ) -> Evaluation:
        """Evaluates the processes of a batch. `batch_facts` maps process id to metadata from the
        batch; it may include processes that are not subjects."""
        filters, known, epoch = self.filters, self._known, self._update(batch_facts)
        verdicts: dict[str, int] = {}
        hits: dict[int, int] = {}
        for process_id, subject in subjects.items():
            entry = known.young.get(process_id)
            if entry is None or entry[3] != epoch:
                entry = self._look_up(process_id, batch_facts.get(process_id))
            own, _, inherited, _ = entry
            if not (own or inherited):
                continue
            here = filters.of_sensor(*subject)
            own &= here
            bits = own | (inherited & here)
            bits = filters.not_exempted(bits, filters.exempts_processes)
            if dropping := bits & filters.drops:
                verdicts[process_id] = dropped_whole(highest(dropping))
            elif bits & filters.thins:
                verdicts[process_id] = bits & (filters.thins | filters.exempts_events)
            own &= filters.measured
            if own:
                hits[own] = hits.get(own, 0) + 1
        return Evaluation(verdicts, len(subjects), self._named(hits))

    def _update(self, batch_facts: Mapping[str, Facts]) -> int:
        """Adds metadata of a batch. Returns the current epoch."""
        for process_id, changes in batch_facts.items():
            base = self._facts(process_id)
            before = self._known.get(process_id)
            get, has = changes.get, base.get
            if (
                before is not None
                and get("path", "") in ("", has("path"))
                and get("cmdline", "") in ("", has("cmdline"))
                and get("process_md5", "") in ("", has("process_md5"))
                and get("parent_id", "") in ("", has("parent_id"))
            ):
                continue
            merged = dict(base)
            merge_ranked(merged, changes)
            self._cache(process_id, merged, before)
        return self._epoch

    def _cache(self, process_id: str, facts: Facts, before: _Entry | None) -> _Entry:
        own = self._own(facts, "path", "cmdline", "process_md5")
        entry = _Entry(own, facts.get("parent_id", ""), 0, -1)
        self._known[process_id] = entry
        inherited_mask = self.filters.inherited_mask
        if process_id in self._unknown_ancestors or (
            before is not None
            and (before.parent_id != entry.parent_id or (before.own ^ own) & inherited_mask)
        ):
            self._unknown_ancestors.discard(process_id)
            self._epoch += 1
        return entry

    def _look_up(self, process_id: str, batch_facts: Facts | None) -> _Entry:
        """Returns the entry of a process with an up-to-date inherited mask."""
        entry = self._known.get(process_id)
        if entry is None:
            facts = self._facts(process_id)
            own = self._own(facts, "path", "cmdline", "process_md5")
            entry = _Entry(own, facts.get("parent_id", ""), 0, -1)
            if not facts:
                return entry  # no metadata yet, so nothing to cache
        if entry.epoch != self._epoch:
            inherited = self._inherited(process_id, entry.parent_id, batch_facts)
            entry = entry._replace(inherited=inherited, epoch=self._epoch)
            self._known[process_id] = entry
        return entry

    def _own(self, facts: Facts, path: str, cmdline: str, md5: str) -> int:
        get = facts.get
        return self.filters.own(get(path, ""), get(cmdline, ""), get(md5, ""))

    def _inherited(self, process_id: str, parent_id: str, batch_facts: Facts | None) -> int:
        """Returns the mask of filters that match the process as a descendant."""
        found, depth, child_id = 0, 1, process_id
        while parent_id and (wanted := self.filters.deeper(depth)):
            known = self._known.get(parent_id)
            if known is None:
                facts = self._facts(parent_id)
                if not facts.get("path"):
                    self._wait_for(parent_id)
                    child = {
                        **self._facts(child_id),
                        **((batch_facts if depth == 1 else None) or {}),
                    }
                    own = self._own(child, "parent_path", "parent_cmdline", "parent_md5")
                    return found | own & wanted
                known = self._cache(parent_id, facts, None)
            found |= known.own & wanted
            child_id, parent_id, depth = parent_id, known.parent_id, depth + 1
        return found

    def _wait_for(self, process_id: str) -> None:
        if len(self._unknown_ancestors) >= FILTER_PROCESSES_CACHED:
            self._unknown_ancestors.clear()
            self._epoch += 1
        self._unknown_ancestors.add(process_id)

    def _named(self, hits: Mapping[int, int]) -> dict[str, int]:
        named: dict[str, int] = {}
        for bits, count in hits.items():
            rest = bits
            while rest:
                lowest = rest & -rest
                rest ^= lowest
                name = self.filters.filters[lowest.bit_length() - 1].id
                named[name] = named.get(name, 0) + count
        return named
