"""Preparing commits in a process of its own, so that it and everything else have a core each.

Preparing is pure Python and holds the interpreter; the event loop, searches and the engine's
inserts would wait for it. The process has no store and no files: it gets bodies, gives tables,
and asks this one what it has to know (`messages.py`).

It may die at any time, of memory for one. Then the commit fails, its senders keep what they
sent, and the next `begin_anew` starts another, which reads back what is stored. It ends by itself
when this process does, however that ends.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import structlog

from vedette.clock import Clock
from vedette.errors import UnavailableError
from vedette.ingest.normalise.normaliser import Keep
from vedette.model.ingress import IngressFilter
from vedette.pipeline.knowledge import Knowledge
from vedette.pipeline.link import Link
from vedette.pipeline.messages import (
    Begin,
    Done,
    Failed,
    Forget,
    FromPreparer,
    Prepare,
    Restore,
    WithoutPartitions,
)
from vedette.pipeline.pack import Packed
from vedette.pipeline.submission import Submission
from vedette.pipeline.windows import Windows
from vedette.store.arrow import unpacked
from vedette.store.commit import CommitTables

log = structlog.get_logger(__name__)

PreparerLink = Link[FromPreparer]

RESTORED_KEYS = 100_000
"""Keys of stored records in one message."""


class PreparationProcess:
    """`Preparation` by another process, which `launch` starts."""

    def __init__(
        self,
        launch: Callable[[], PreparerLink],
        knowledge: Knowledge,
        windows: Windows,
        clock: Clock,
        keep: Keep,
        processes_remembered: int,
    ) -> None:
        self.windows = windows
        self._launch = launch
        self._knowledge = knowledge
        self._clock = clock
        self._keep = keep
        self._processes_remembered = processes_remembered
        self._link: PreparerLink | None = None
        self._durable: list[int] = []
        self._unmounted: list[int] = []
        self._lock = threading.Lock()
        """Held to change what filters are and counted."""
        self._filters: list[IngressFilter] = []
        self._filters_changed = False
        self._looked_at = 0
        self._hits: dict[str, int] = {}

    def begin(self, unmounted: Iterable[int], *, is_empty: bool) -> None:
        """Starts the process with what the store holds; before anything else."""
        self._unmounted = list(unmounted)
        self._start(is_empty=is_empty)

    def prepare(self, submissions: list[Submission], seq: int, now_us: int) -> Packed:
        order = Prepare(
            submissions,
            seq,
            now_us,
            self.windows.window_ms,
            self.windows.partition_ms,
            self._durable,
            self._changed_filters(),
        )
        self._durable = []
        done = self._ask(order)
        self.windows.advance(now_us)
        for sensor_id, address, host_type in done.seen:
            self._knowledge.sensors.note(
                sensor_id, now_us, interface_ip=address, host_type=host_type
            )
        self._count(done)
        aside = [(name, unpacked(rows)) for name, rows in done.aside]
        tables = CommitTables(aside, list(map(unpacked, done.segments)))
        return Packed(seq, tables, done.receipts)

    def durable(self, seq: int) -> None:
        self._durable.append(seq)

    def begin_anew(self, since_seq: int) -> None:
        if self._link is None:
            self._start(is_empty=False)
            return
        self._send(Forget(self._durable))
        self._durable = []
        self._restore_seen(since_seq)

    def without_partitions(self, unmounted: Iterable[int]) -> None:
        self._unmounted = list(unmounted)
        if self._link is not None:
            self._send(WithoutPartitions(self._unmounted))

    def use_filters(self, filters: Sequence[IngressFilter]) -> None:
        with self._lock:
            self._filters = list(filters)
            self._filters_changed = True

    def filter_counts(self) -> tuple[int, dict[str, int]]:
        with self._lock:
            counted = self._looked_at, self._hits
            self._looked_at, self._hits = 0, {}
        return counted

    def close(self) -> None:
        """Ends the process. Raises nothing when it has ended already."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def _start(self, *, is_empty: bool) -> None:
        """A new process that knows what is stored: all that was durable is read back."""
        self._link = self._launch()
        self._durable = []
        with self._lock:
            self._filters_changed = True
        now_us = self._clock.now_us()
        self._send(Begin(self._keep, self._processes_remembered, now_us, is_empty))
        self._send(WithoutPartitions(self._unmounted))
        self._restore_seen(0)

    def _restore_seen(self, since_seq: int) -> None:
        keys = _Restoring(self._send)
        self._knowledge.stored.restore_seen(keys, since_seq)
        keys.flush()

    def _changed_filters(self) -> list[IngressFilter] | None:
        with self._lock:
            changed, self._filters_changed = self._filters_changed, False
            return self._filters if changed else None

    def _count(self, done: Done) -> None:
        with self._lock:
            self._looked_at += done.looked_at
            for name, count in done.hits.items():
                self._hits[name] = self._hits.get(name, 0) + count

    def _ask(self, order: Prepare) -> Done:
        """Answers its questions until it is done."""
        self._send(order)
        while True:
            told = self._receive()
            match told:
                case Done():
                    return told
                case Failed(message, reason):
                    if reason:
                        raise UnavailableError(message, reason=reason)
                    raise RuntimeError(message)
                case _:
                    self._send(self._knowledge.answer(told))

    def _send(self, message: Any) -> None:
        if self._link is None:
            raise UnavailableError("nothing prepares commits at the moment")
        try:
            self._link.send(message)
        except ConnectionError as error:
            raise self._lost() from error

    def _receive(self) -> FromPreparer:
        assert self._link is not None
        try:
            return self._link.receive()
        except ConnectionError as error:
            raise self._lost() from error

    def _lost(self) -> UnavailableError:
        log.error("the process that prepares commits has ended; another one is started")
        self.close()
        return UnavailableError("the process that prepares commits has ended")


class _Restoring:
    """`SeenKeys` that sends them on, many in one message."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._restore = Restore([], [], [])
        self._count = 0

    def restore_records(self, sensor_id: int, keys: Iterable[int]) -> None:
        self._add(self._restore.records, sensor_id, keys)

    def restore_kept(self, sensor_id: int, keys: Iterable[int]) -> None:
        self._add(self._restore.kept, sensor_id, keys)

    def restore_requests(self, table: str, keys: Iterable[int]) -> None:
        self._add(self._restore.requests, table, keys)

    def flush(self) -> None:
        if self._count:
            self._send(self._restore)
            self._restore = Restore([], [], [])
            self._count = 0

    def _add(self, rows: list[Any], of: int | str, keys: Iterable[int]) -> None:
        told = list(keys)
        if told:
            rows.append((of, told))
            self._count += len(told)
        if self._count >= RESTORED_KEYS:
            self.flush()
