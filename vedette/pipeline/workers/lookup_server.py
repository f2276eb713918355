"""Answers what the process that prepares commits has to know (`protocol.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, assert_never

import structlog

from vedette.errors import VedetteError
from vedette.model.host import HostProcess, Sighting
from vedette.pipeline.batch.decoded_batch import ChannelCodes
from vedette.pipeline.batch.host_cache import SensorBook
from vedette.pipeline.batch.process_filter import Hearsay
from vedette.pipeline.batch.segment_assigner import SegmentPlace
from vedette.pipeline.workers.processor import SeenKeys
from vedette.pipeline.workers.protocol import (
    Answer,
    AskCodes,
    AskHeardOf,
    AskHosts,
    AskProcesses,
    Codes,
    Failed,
    HeardOfProcesses,
    HostProcesses,
    Processes,
    Question,
    Resolve,
    Resolved,
)

log = structlog.get_logger(__name__)


class Stored(Hearsay, Protocol):
    """What is asked of the store (`StoreGuide`)."""

    def processes(
        self, process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]: ...

    def host_processes(self, sensor_ids: Sequence[int]) -> list[HostProcess]: ...

    def restore_seen(self, seen: SeenKeys, since_seq: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Where questions of the process are answered from."""

    sensors: SensorBook
    channels: ChannelCodes
    stored: Stored

    def answer(self, question: Question) -> Answer:
        try:
            return self._answer(question)
        except VedetteError as error:
            return Failed(error.message, error.reason)
        except Exception as error:
            log.exception("a question of the preparing process failed")
            return Failed(f"a question of the preparing process failed: {type(error).__name__}")

    def _answer(self, question: Question) -> Answer:
        match question:
            case Resolve(hosts, group_id, now_us):
                sightings = {name: Sighting(os_type) for name, os_type in hosts.items()}
                return Resolved(self.sensors.resolve(sightings, group_id, now_us))
            case AskCodes(names):
                return Codes(self.channels.codes(names))
            case AskProcesses(process_ids):
                return Processes(self.stored.processes(process_ids))
            case AskHeardOf():
                found = self.stored.heard_of()
                return HeardOfProcesses(None if found is None else found.serialize())
            case AskHosts(sensor_ids):
                return HostProcesses(self.stored.host_processes(sensor_ids))
            case _:
                assert_never(question)
