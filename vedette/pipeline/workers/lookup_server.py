"""Answers the lookups of worker processes from the state database and the store.

Workers have no connection to either (`protocol.py`). An error is returned as `Failed`, so that the
worker can fail its commit instead of waiting forever.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

import structlog

from vedette.errors import VedetteError
from vedette.model.host import HostProcess, Sighting
from vedette.pipeline.batch.decoded_batch import ChannelCodes
from vedette.pipeline.batch.host_cache import SensorDirectory
from vedette.pipeline.batch.process_filter import ProcessHashes
from vedette.pipeline.batch.segment_assigner import SegmentPlace
from vedette.pipeline.workers.processor import StoredKeys
from vedette.pipeline.workers.protocol import (
    ChannelCodesFound,
    Failed,
    HostProcessesFound,
    Lookup,
    LookupAnswer,
    LookupChannelCodes,
    LookupHostProcesses,
    LookupProcesses,
    LookupProcessHashes,
    LookupSensors,
    ProcessesFound,
    ProcessHashesFound,
    SensorsFound,
)

log = structlog.get_logger(__name__)


class StoreReader(ProcessHashes, Protocol):
    """Lookups in the store (`StoreLookup`)."""

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]: ...

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]: ...

    def restore_seen(
        self, keys: StoredKeys, since_seq: int, slots: Collection[int] | None = None
    ) -> None: ...


class SharedSensors(SensorDirectory, Protocol):
    """Sensors that other servers and commands can change."""

    names_version: int
    """Increases when a resolved name moves to another sensor."""


@dataclass(frozen=True, slots=True)
class LookupServer:
    """The data sources and the `answer` method. Safe to share between threads if the sources
    are."""

    sensors: SharedSensors
    channels: ChannelCodes
    stored: StoreReader

    def answer(self, lookup: Lookup) -> LookupAnswer:
        """Answers a lookup. Never raises."""
        try:
            return self._answer(lookup)
        except VedetteError as error:
            return Failed(error.message, error.reason)
        except Exception as error:
            log.exception("a lookup for a worker failed")
            return Failed(f"a lookup for a worker failed: {type(error).__name__}")

    def _answer(self, lookup: Lookup) -> LookupAnswer:
        match lookup:
            case LookupSensors(hosts, group_id, now_us, any_group, sensor_id):
                sightings = {name: Sighting(os_type) for name, os_type in hosts.items()}
                return SensorsFound(
                    self.sensors.resolve(
                        sightings, group_id, now_us, any_group=any_group, sensor_id=sensor_id
                    )
                )
            case LookupChannelCodes(names, group_id):
                return ChannelCodesFound(self.channels.codes(names, group_id))
            case LookupProcesses(process_ids):
                return ProcessesFound(self.stored.processes(process_ids))
            case LookupProcessHashes():
                hashes = self.stored.process_hashes()
                return ProcessHashesFound(None if hashes is None else hashes.serialize())
            case LookupHostProcesses(sensor_ids):
                return HostProcessesFound(self.stored.host_processes(sensor_ids))
            case _:
                assert_never(lookup)
