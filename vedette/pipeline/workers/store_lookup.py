"""Reads of the write path from the store: at start, after a failed commit, and when a process or
host is not in memory."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

from pyroaring import BitMap

from vedette.clock import Clock
from vedette.limits import SEEN_HOURS, STORED_HASHES_MAX, Limit
from vedette.model.host import HostProcess
from vedette.model.ids import slot_of
from vedette.pipeline.batch.batch_processor import RECORD_TABLE, SEGMENT_TABLE
from vedette.pipeline.batch.segment_assigner import SegmentPlace
from vedette.pipeline.request_parts import key_in_slot
from vedette.pipeline.time_windows import TimeWindows
from vedette.pipeline.workers.processor import StoredKeys
from vedette.store.engine.client import Engine
from vedette.store.partitions.lifecycle import hot_partition, open_partition
from vedette.store.read.recovery import (
    host_context,
    known_processes,
    newest,
    process_hashes,
    seen_keys,
)

HOST_CONTEXT_HOURS: Limit[int] = 24
"""Age of the oldest processes loaded when a host's context is built from the store: records rarely
refer to older ones."""


_HOUR_US = 3600 * 1_000_000
_TABLES: tuple[Literal["segment", "record"], ...] = (SEGMENT_TABLE, RECORD_TABLE)
"""Order matters: the keys of `segment` decide which records have only their half in `record`."""


class StoreLookup:
    """Lookups in the store. Methods raise UnavailableError if the store cannot answer."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self.engine = engine
        self._clock = clock

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        """Maps process id to stored metadata and segments; processes that are not stored are
        missing."""
        return {
            process_id: (
                known.facts,
                [
                    SegmentPlace(
                        place.partition_ms, place.window_ms, place.segment_id, place.event_count
                    )
                    for place in known.places
                ],
            )
            for process_id, known in known_processes(self.engine, process_ids).items()
        }

    def process_hashes(self) -> BitMap | None:
        """Returns the hashes of all stored processes, for `ProcessFilter`; None in a cluster, where
        other servers store too."""
        if self.engine.capabilities.cluster:
            return None
        return process_hashes(self.engine, STORED_HASHES_MAX)

    def restore_seen(
        self, keys: StoredKeys, since_seq: int, slots: Collection[int] | None = None
    ) -> None:
        """Passes to `keys` the keys of records stored by commits from `since_seq` on, in the last
        `SEEN_HOURS`. `slots` restricts them to hosts in these slots."""
        since_us = max(0, self._clock.now_us() - SEEN_HOURS * _HOUR_US)
        for table in _TABLES:
            for sensor_id, records, requests in seen_keys(
                self.engine, table, since_us=since_us, since_seq=since_seq, slots=slots
            ):
                if table == RECORD_TABLE:
                    keys.restore_kept(sensor_id, records)
                else:
                    keys.restore_records(sensor_id, records)
                if slots is None:
                    keys.restore_requests(table, requests)
                else:
                    slot = slot_of(sensor_id)
                    keys.restore_requests(table, [key_in_slot(key, slot) for key in requests])

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]:
        """Returns the processes of these hosts in the last `HOST_CONTEXT_HOURS` (`HostCache`)."""
        since_ms = max(0, self._clock.now_us() - HOST_CONTEXT_HOURS * _HOUR_US) // 1_000
        return host_context(self.engine, sensor_ids, since_ms=since_ms)

    def windows(self) -> TimeWindows:
        """Returns the window and partition of the next commit; opens the first partition of a new
        store."""
        hot_ms = hot_partition(self.engine) or 0
        # A window may have begun with the partition without any write since.
        windows = TimeWindows(max(newest(self.engine).window_ms, hot_ms), hot_ms)
        if not windows.partition_ms:
            opened_ms = windows.next_opening(self._clock.now_us())
            open_partition(self.engine, opened_ms)
            windows.roll(opened_ms)
        return windows

    def is_ours_and_empty(self) -> bool:
        """Whether nothing is stored, and no other server stores anything."""
        return not self.engine.capabilities.cluster and self.newest_seq() == 0

    def newest_seq(self) -> int:
        """Returns the number of the newest commit; 0 for an empty store."""
        return newest(self.engine).seq
