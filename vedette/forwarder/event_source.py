"""Reads process events for forwarders, in the order of their commits.

A position is the number of a commit. An event may be sent twice if its segment was merged before it
was read; its `event_id` is then the same.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vedette.clock import Clock
from vedette.forwarder.record_files import Forwarded
from vedette.forwarder.record_source import Chunk
from vedette.limits import Limit
from vedette.model.fields import PROCESS
from vedette.query import Condition, compile_segments, parse_stored
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.state.jobs.forwarders import Forwarder, RecordSchema
from vedette.store.engine.client import Engine
from vedette.store.read.detection.committed_events import (
    CommittedEvent,
    commit_before,
    committed_events,
    event_commits,
)
from vedette.store.read.detection.touched import Commits

FORWARD_READ_EVENTS: Limit[int] = 50_000
"""Events that are read at a time. Commits are read completely, and one commit may have more events,
since its bodies were limited when they arrived."""


RenderEvent = Callable[[CommittedEvent], dict[str, Any]]
"""Makes the JSON record of an event (docs/forwarder.md#endpoint-events)."""


@dataclass(frozen=True, slots=True)
class EventSource:
    """The `RecordSource` of events. `settled` returns the newest commit that is complete
    (`IngestQueue.settled_seq`)."""

    engine: Engine
    clock: Clock
    settings: SearchSettings
    settled: Callable[[], int]
    render: Mapping[RecordSchema, RenderEvent]

    def newest(self) -> int:
        return self.settled()

    def at_time(self, time_us: int) -> int:
        return commit_before(self.engine, time_us, self.settled())

    def read(self, forwarder: Forwarder, after: int) -> Chunk:
        settled = self.settled()
        commits = event_commits(self.engine, after, settled, FORWARD_READ_EVENTS)
        if commits is None:
            return Chunk((), after, has_more=False)
        records = self._records(forwarder, commits)
        return Chunk(records, commits.until, has_more=commits.until < settled)

    def check(self, query: str) -> None:
        self._condition(query)

    def _records(self, forwarder: Forwarder, commits: Commits) -> Iterator[Forwarded]:
        render = self.render[forwarder.record_schema]
        where = self._condition(forwarder.query) if forwarder.query.strip() else None
        for event in committed_events(self.engine, commits, where):
            yield Forwarded(event.seq, event.committed_us, render(event))

    def _condition(self, query: str) -> Condition:
        tree = parse_stored(query, PROCESS)
        now_us = self.clock.now_us()
        return compile_segments(guarded_check(self.engine, tree, PROCESS, self.settings, now_us))
