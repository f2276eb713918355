"""Answers what the process that prepares commits has to know (`protocol.py`)."""

from collections.abc import Sequence
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
    """What is asked of the store (`StoreGuide`)."""

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]: ...

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]: ...

    def restore_seen(self, seen: StoredKeys, since_seq: int) -> None: ...


@dataclass(frozen=True, slots=True)
class LookupServer:
    """Where questions of the process are answered from."""

    sensors: SensorDirectory
    channels: ChannelCodes
    stored: StoreReader

    def answer(self, question: Lookup) -> LookupAnswer:
        try:
            return self._answer(question)
        except VedetteError as error:
            return Failed(error.message, error.reason)
        except Exception as error:
            log.exception("a question of the preparing process failed")
            return Failed(f"a question of the preparing process failed: {type(error).__name__}")

    def _answer(self, question: Lookup) -> LookupAnswer:
        match question:
            case LookupSensors(hosts, group_id, now_us):
                sightings = {name: Sighting(os_type) for name, os_type in hosts.items()}
                return SensorsFound(self.sensors.resolve(sightings, group_id, now_us))
            case LookupChannelCodes(names):
                return ChannelCodesFound(self.channels.codes(names))
            case LookupProcesses(process_ids):
                return ProcessesFound(self.stored.processes(process_ids))
            case LookupProcessHashes():
                found = self.stored.heard_of()
                return ProcessHashesFound(None if found is None else found.serialize())
            case LookupHostProcesses(sensor_ids):
                return HostProcessesFound(self.stored.host_processes(sensor_ids))
            case _:
                assert_never(question)
