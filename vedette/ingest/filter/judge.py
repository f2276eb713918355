"""Which processes of a commit the filters mean, by what is known of them and their parents.

A process is judged by its best known path, command line and md5, as they are when its records
are stored: what was stored before a better name was known stays. A parent that is not known
itself is judged by what its child tells of it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vedette.ingest.context.two_generation_cache import GenerationCache
from vedette.ingest.filter.compile import CompiledFilters
from vedette.limits import FILTER_PROCESSES_REMEMBERED
from vedette.model.metadata_rank import merge_ranked

Facts = Mapping[str, Any]
"""Metadata columns of a process, as `model/columns.py` names them; {} when nothing is known."""

DROP_ALL = -1
"""What `Meant.verdicts` has for a process all of whose events are dropped."""


class Subject(NamedTuple):
    """The sensor a process runs on."""

    sensor_id: int
    group_id: int
    os_type: str
    takes_filters: bool
    """Whether the sensor applies `filter_on_sensor` filters itself."""


class Meant(NamedTuple):
    """What the filters say of one commit."""

    verdicts: dict[str, int]
    """By process id, only of those that lose anything: `DROP_ALL`, or bits of the filters whose
    lists of events count."""
    looked_at: int
    """Processes that were judged."""
    hits: dict[str, int]
    """How many of them each filter means by itself, not as a descendant; by id of the filter."""


class _Entry(NamedTuple):
    """What is remembered of a process."""

    own: int
    """Bits of the filters that mean it by what it is."""
    parent_id: str
    inherited: int
    """Bits of the filters that mean it as a descendant."""
    epoch: int
    """When `inherited` was found: it counts while this is the judge's."""


class Judge:
    """The memory of one set of filters: a process is looked up once until more is known of it.

    What a process inherits is found anew when anything about some ancestor changed: then the
    epoch ends. It does so rarely, since what is new in a commit is mostly nobody's ancestor yet.
    """

    def __init__(self, filters: CompiledFilters, facts: Callable[[str], Facts]) -> None:
        """`facts` tells what is known of a process beside what the commit tells."""
        self.filters = filters
        self._facts = facts
        self._known: GenerationCache[str, _Entry] = GenerationCache(FILTER_PROCESSES_REMEMBERED)
        self._awaited: set[str] = set()
        """Ancestors that were asked for and not known."""
        self._epoch = 0

    def judge(
        self, subjects: Mapping[str, Subject], told: Mapping[str, Mapping[str, Any]]
    ) -> Meant:
        """The verdicts on the processes of a commit. `told` is what the commit tells of
        processes, which need not be among the subjects."""
        filters, known, epoch = self.filters, self._known, self._learn_all(told)
        verdicts: dict[str, int] = {}
        hits: dict[int, int] = {}
        for process_id, subject in subjects.items():
            entry = known.young.get(process_id)
            if entry is None or entry[3] != epoch:
                entry = self._look_up(process_id, told.get(process_id))
            own, _, inherited, _ = entry
            if not (own or inherited):
                continue
            here = filters.of_sensor(*subject)
            own &= here
            bits = own | (inherited & here)
            if bits & filters.drops:
                verdicts[process_id] = DROP_ALL
            elif bits & filters.thins:
                verdicts[process_id] = bits & filters.thins
            own &= filters.metered
            if own:
                hits[own] = hits.get(own, 0) + 1
        return Meant(verdicts, len(subjects), self._named(hits))

    def _learn_all(self, told: Mapping[str, Facts]) -> int:
        """Takes what a commit tells; returns the epoch that holds for it."""
        for process_id, news in told.items():
            base = self._facts(process_id)
            before = self._known.get(process_id)
            get, has = news.get, base.get
            if (
                before is not None
                and get("path", "") in ("", has("path"))
                and get("cmdline", "") in ("", has("cmdline"))
                and get("process_md5", "") in ("", has("process_md5"))
                and get("parent_id", "") in ("", has("parent_id"))
            ):
                continue
            merged = dict(base)
            merge_ranked(merged, news)
            self._remember(process_id, merged, before)
        return self._epoch

    def _remember(self, process_id: str, facts: Facts, before: _Entry | None) -> _Entry:
        own = self._own(facts, "path", "cmdline", "process_md5")
        entry = _Entry(own, facts.get("parent_id", ""), 0, -1)
        self._known[process_id] = entry
        levelled = self.filters.levelled
        if process_id in self._awaited or (
            before is not None
            and (before.parent_id != entry.parent_id or (before.own ^ own) & levelled)
        ):
            self._awaited.discard(process_id)
            self._epoch += 1
        return entry

    def _look_up(self, process_id: str, told: Facts | None) -> _Entry:
        """The entry of a process with what it inherits now."""
        entry = self._known.get(process_id)
        if entry is None:
            facts = self._facts(process_id)
            own = self._own(facts, "path", "cmdline", "process_md5")
            entry = _Entry(own, facts.get("parent_id", ""), 0, -1)
            if not facts:
                return entry  # nothing is known yet, so nothing is to be remembered
        if entry.epoch != self._epoch:
            inherited = self._inherited(process_id, entry.parent_id, told)
            entry = entry._replace(inherited=inherited, epoch=self._epoch)
            self._known[process_id] = entry
        return entry

    def _own(self, facts: Facts, path: str, cmdline: str, md5: str) -> int:
        get = facts.get
        return self.filters.own(get(path, ""), get(cmdline, ""), get(md5, ""))

    def _inherited(self, process_id: str, parent_id: str, told: Facts | None) -> int:
        """Bits of the filters that mean the process as a descendant."""
        found, depth, child_id = 0, 1, process_id
        while parent_id and (wanted := self.filters.deeper(depth)):
            known = self._known.get(parent_id)
            if known is None:
                facts = self._facts(parent_id)
                if not facts.get("path"):
                    self._await(parent_id)
                    child = {**self._facts(child_id), **((told if depth == 1 else None) or {})}
                    own = self._own(child, "parent_path", "parent_cmdline", "parent_md5")
                    return found | own & wanted
                known = self._remember(parent_id, facts, None)
            found |= known.own & wanted
            child_id, parent_id, depth = parent_id, known.parent_id, depth + 1
        return found

    def _await(self, process_id: str) -> None:
        if len(self._awaited) >= FILTER_PROCESSES_REMEMBERED:
            self._awaited.clear()
            self._epoch += 1
        self._awaited.add(process_id)

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
