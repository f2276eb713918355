"""Changes of time partitions, made between two commits.

Nothing may be written to a partition that is being closed, detached or dropped: rows would recreate
it. So every change runs on the commit thread while no commit is open, and the processor receives
the list of detached partitions.

Telemetry and the audit log are in different stores. So the audit entry is written before the
change: deletions are on record even if the server is killed in the middle. A second entry is
written if the change fails.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Literal, Protocol

import structlog

from vedette.clock import Clock
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.pipeline.workers.processor import CommitProcessor
from vedette.settings import Settings
from vedette.state.accounts import audit_trail
from vedette.state.clock.guard import ClockGuard
from vedette.state.db.audit_log import Entry
from vedette.state.db.database import Database
from vedette.store.engine.client import Engine
from vedette.store.partitions import lifecycle as stored
from vedette.store.partitions.partition import Partition, State, partition_name, time_text
from vedette.store.partitions.retention import Policy, Roll, decide

log = structlog.get_logger(__name__)

_KIND = "partition"

PARTITION_CHANGES = "partition changes"
"""Lock for opening, mounting, unmounting and deleting partitions. A server that starts takes it to
complete interrupted changes: it must not complete a change that another server has in progress."""

_HOUR_MS = 3600 * 1_000
_DAY_MS = 24 * _HOUR_MS


class OtherWriters(Protocol):
    """Servers that write to the same partitions (`vedette/servers/partition_changes.py`)."""

    def announced(self) -> int:
        """Returns the number of the last change that another server has announced."""

    def note_followed(self, change: int) -> None:
        """Tells the other servers that this server has applied all changes up to this number."""

    def announce_and_wait(self) -> None:
        """Returns when all other servers have applied the store's present state and finished their
        open writes. Blocks for seconds; raises UnavailableError."""


class PartitionControl:
    """Changes on request (docs/api-objects.md#time-partition), and changes due by the settings."""

    def __init__(
        self,
        engine: Engine,
        ingest_queue: IngestQueue,
        processor: CommitProcessor,
        clock: Clock,
        database: Database,
        clock_guard: ClockGuard | None = None,
        others: OtherWriters | None = None,
    ) -> None:
        """`others` are the servers that write to the same partitions; None if there are none."""
        self._others = others
        self._unmounted: frozenset[int] | None = None
        self._database = database
        self._engine = engine
        self._ingest_queue = ingest_queue
        self._processor = processor
        self._clock = clock
        self._clock_guard = clock_guard or ClockGuard(clock)

    def roll(self) -> str:
        """Closes the hot partition and opens a new one; returns the name of the closed one."""
        name = partition_name(self._processor.windows.partition_ms)
        entry = Entry("change", _KIND, name, {"state": "hot"}, {"state": "warm"})
        with self._database.exclusive(PARTITION_CHANGES), self._audited(entry):
            self._ingest_queue.between_commits(self._roll)
        return name

    def mount(self, name: str) -> Partition:
        """Mounts a partition. Raises NotFoundError, ConflictError for the hot partition."""
        return self._change(stored.mount, name, "warm")

    def unmount(self, name: str) -> Partition:
        """Unmounts a partition. Raises NotFoundError, ConflictError for the hot partition."""
        return self._change(stored.unmount, name, "cold")

    def delete(self, name: str) -> Partition:
        """Deletes a partition. Raises NotFoundError, ConflictError for the hot partition."""
        return self._change(stored.delete, name, "deleted")

    def follow(self) -> None:
        """Applies the changes of other servers: the hot partition, and the partitions that must not
        be written to."""
        if self._others is None:
            return
        change = self._others.announced()
        hot_ms, unmounted = stored.writable(self._engine)
        if hot_ms > self._processor.windows.partition_ms:
            self._ingest_queue.between_commits(lambda: self._processor.windows.roll(hot_ms))
        if unmounted != self._unmounted:
            self._ingest_queue.between_commits(
                lambda: self._processor.without_partitions(unmounted)
            )
            self._unmounted = unmounted
        self._others.note_followed(change)

    def _announce(self, name: str, state: Literal["cold", "deleted"]) -> None:
        """Returns when no other server writes to the partition any more."""
        if self._others is not None:
            stored.announce(self._engine, name, state)
            self._others.announce_and_wait()

    def maintain(self, settings: Settings) -> None:
        """Rolls and deletes partitions that are due by age, size or free disk space; not by age
        while the clock is in doubt. Removes leftovers of deleted partitions."""
        policy = policy_of(settings)
        if self._clock_guard.deletion_hold():
            policy = replace(policy, roll_age_ms=0, keep_age_ms=0)
        due = decide(
            stored.list_partitions(self._engine),
            policy,
            self._clock.now_us() // 1_000,
            stored.free_disk_bytes(self._engine),
        )
        for action in due:
            log.info("partitions", action=repr(action))
            if isinstance(action, Roll):
                self.roll()
            else:
                self.delete(action.name)
        stored.drop_leftovers(self._engine)

    def _roll(self) -> None:
        opened_ms = self._processor.windows.next_opening(self._clock.now_us())
        stored.open_partition(self._engine, opened_ms)
        self._processor.windows.roll(opened_ms)

    def _change(
        self, change: Callable[[Engine, str], Partition], name: str, state: State
    ) -> Partition:
        changed: list[Partition] = []

        def order() -> None:
            try:
                changed.append(change(self._engine, name))
            finally:
                # Also after a partial change: detached partitions must get no late metadata.
                self._processor.without_partitions(stored.unmounted(self._engine))

        with ExitStack() as held:
            held.enter_context(self._database.exclusive(PARTITION_CHANGES))
            entries = list(self._entries(name, state))
            if state in ("cold", "deleted"):
                self._announce(name, state)
            for entry in entries:
                held.enter_context(self._audited(entry))
            self._ingest_queue.between_commits(order)
        return changed[0]

    def _entries(self, name: str, state: State) -> Iterator[Entry]:
        """Yields the audit entry of a change; none if nothing changes."""
        for one in stored.list_partitions(self._engine):
            if one.name == name and one.state not in ("hot", state):
                before: dict[str, object] = {"state": one.state}
                if state == "deleted":
                    before |= {
                        "from": time_text(one.opened_ms),
                        "to": time_text(one.closed_ms),
                        "rows": one.row_count,
                        "bytes": one.byte_count,
                    }
                    yield Entry("delete", _KIND, name, before)
                else:
                    yield Entry("change", _KIND, name, before, {"state": state})

    @contextmanager
    def _audited(self, entry: Entry) -> Iterator[None]:
        audit_trail.record(self._database, entry)
        try:
            yield
        except BaseException as error:
            failed = {"failed": type(error).__name__}
            audit_trail.record(self._database, Entry("change", _KIND, entry.target, None, failed))
            raise


def policy_of(settings: Settings) -> Policy:
    """Returns the settings for rolling and retention as a policy."""
    return Policy(
        roll_age_ms=settings.partition_roll_hours * _HOUR_MS,
        roll_bytes=settings.partition_roll_bytes,
        roll_rows=settings.partition_roll_rows,
        keep_age_ms=settings.retention_days * _DAY_MS,
        keep_bytes=settings.retention_bytes,
        free_bytes_min=settings.retention_free_disk_bytes,
    )
