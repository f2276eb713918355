"""Changes of time partitions, made between two commits.

Nothing may be written to a partition that is being closed, detached or dropped: rows would recreate
it. So every change runs on the preparing thread while no commit is under way, and the processor is
given the detached partitions.
"""

from collections.abc import Callable
from dataclasses import replace

import structlog

from vedette.clock import Clock
from vedette.pipeline.ingest_queue import IngestQueue
from vedette.pipeline.workers.processor import CommitProcessor
from vedette.settings import Settings
from vedette.state.clock.guard import ClockGuard
from vedette.store.engine.client import Engine
from vedette.store.partitions import lifecycle as stored
from vedette.store.partitions.partition import Partition, partition_name
from vedette.store.partitions.retention import Policy, Roll, decide

log = structlog.get_logger(__name__)

_HOUR_MS = 3600 * 1_000
_DAY_MS = 24 * _HOUR_MS


class PartitionControl:
    """Changes on request (docs/api-objects.md#time-partition), and those due by the settings."""

    def __init__(
        self,
        engine: Engine,
        intake: IngestQueue,
        preparation: CommitProcessor,
        clock: Clock,
        clock_guard: ClockGuard | None = None,
    ) -> None:
        self._engine = engine
        self._intake = intake
        self._preparation = preparation
        self._clock = clock
        self._clock_guard = clock_guard or ClockGuard(clock)

    def roll(self) -> str:
        """Closes the hot partition and opens a new one; returns the name of the closed one."""
        closed_ms = self._preparation.windows.partition_ms
        self._intake.between_commits(self._roll)
        return partition_name(closed_ms)

    def mount(self, name: str) -> Partition:
        """Raises NotFoundError, ConflictError for the hot partition."""
        return self._change(stored.mount, name)

    def unmount(self, name: str) -> Partition:
        """Raises NotFoundError, ConflictError for the hot partition."""
        return self._change(stored.unmount, name)

    def delete(self, name: str) -> Partition:
        """Raises NotFoundError, ConflictError for the hot partition."""
        return self._change(stored.delete, name)

    def maintain(self, settings: Settings) -> None:
        """Rolls and deletes partitions that are due by age, size or free disk space; by age nothing
        while the clock is in doubt."""
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

    def _roll(self) -> None:
        opened_ms = self._preparation.windows.next_opening(self._clock.now_us())
        stored.open_partition(self._engine, opened_ms)
        self._preparation.windows.roll(opened_ms)

    def _change(self, change: Callable[[Engine, str], Partition], name: str) -> Partition:
        changed: list[Partition] = []

        def order() -> None:
            try:
                changed.append(change(self._engine, name))
            finally:
                # Also after a partial change: detached partitions must get no late metadata.
                self._preparation.without_partitions(stored.unmounted(self._engine))

        self._intake.between_commits(order)
        return changed[0]


def policy_of(settings: Settings) -> Policy:
    """The rules for rolling and retention that the settings state."""
    return Policy(
        roll_age_ms=settings.partition_roll_hours * _HOUR_MS,
        roll_bytes=settings.partition_roll_bytes,
        keep_age_ms=settings.retention_days * _DAY_MS,
        keep_bytes=settings.retention_bytes,
        free_bytes_min=settings.retention_free_disk_bytes,
    )
