"""The process's own Sysmon event 1 determines its identity, regardless of other records and their
order."""

import random
from collections import defaultdict
from typing import Any

import pytest
from pyroaring import BitMap

from tests.recorded.sets import NEEDED, parameters
from tests.recorded.test_windows_records import records_of_set, windows_sets
from vedette.ingest.channels import SYSMON, SYSMON_LINUX
from vedette.ingest.context.host_context import HostContext
from vedette.ingest.fold import Folded, fold
from vedette.ingest.normalise import SOURCES
from vedette.ingest.normalise.keep import KEEP
from vedette.ingest.normalise.values import known_text
from vedette.ingest.record import Record
from vedette.ingest.times import time_us
from vedette.model.event import Outcome
from vedette.model.ids import process_id_from_guid
from vedette.pipeline.batch.segment_assigner import SegmentAssigner, SegmentPlace
from vedette.pipeline.time_windows import TimeWindows

pytestmark = NEEDED

SEED = 20_261_123
BATCH = 150


class Empty:
    """A store that holds nothing."""

    def processes(
        self, _process_ids: list[str]
    ) -> dict[str, tuple[dict[str, Any], list[SegmentPlace]]]:
        return {}

    def process_hashes(self) -> BitMap | None:
        return BitMap()


class Writer:
    """Batches of records to metadata, as the write path merges it."""

    def __init__(self) -> None:
        self.assigner = SegmentAssigner(Empty(), 1_000_000)
        self.contexts: dict[str, HostContext] = {}
        self._windows = TimeWindows(1_700_000_000_000, 1)

    def context(self, host: str) -> HostContext:
        return self.contexts.setdefault(host, HostContext(len(self.contexts) + 1))

    def write(self, records: list[Record]) -> None:
        folded = Folded()
        for record in records:
            SOURCES[record.vedette_record].learn(record, self.context(record.host))
        for record in records:
            context = self.context(record.host)
            made: list[Outcome] = SOURCES[record.vedette_record].normalise(record, context, KEEP)
            fold(folded, made, context.sensor_id, 0, 1)
        hosts: dict[int, dict[str, Any]] = defaultdict(dict)
        self.assigner.place(folded.drafts, self._windows, hosts)


def creations(writer: Writer, records: list[Record]) -> dict[str, dict[str, str]]:
    """The earliest Sysmon 1 of every process, by process id."""
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for record in records:
        if record.channel not in (SYSMON, SYSMON_LINUX) or record.event_id != 1:
            continue
        data = record.data
        guid = str(data.get("ProcessGuid", "")).strip("{}")
        if len(guid) != 36 or not guid[9:].strip("0-"):
            continue
        sensor_id = writer.context(record.host).sensor_id
        parent = str(data.get("ParentProcessGuid", "")).strip("{}")
        known = len(parent) == 36 and parent[9:].strip("0-")
        reported = {
            "path": known_text(data.get("Image")),
            "username": known_text(data.get("User")),
            "integrity_level": known_text(data.get("IntegrityLevel")),
            "parent_id": process_id_from_guid(sensor_id, parent) if known else "",
        }
        at = time_us(data.get("UtcTime", ""))
        process_id = process_id_from_guid(sensor_id, guid)
        if process_id not in found or at < found[process_id][0]:
            found[process_id] = (at, reported)
    return {process_id: reported for process_id, (_, reported) in found.items()}


@pytest.mark.parametrize("together", [True, False], ids=["one batch", "many batches"])
@pytest.mark.parametrize("name", parameters(windows_sets()))
def test_a_process_is_what_its_own_creation_says(name: str, together: bool) -> None:
    records, writer = records_of_set(name), Writer()
    if not together:
        random.Random(SEED).shuffle(records)
    size = len(records) if together else BATCH
    for at in range(0, len(records), size or 1):
        writer.write(records[at : at + size])
    wrong = {
        (process_id, column): (writer.assigner.facts(process_id).get(column), value)
        for process_id, reported in creations(writer, records).items()
        for column, value in reported.items()
        if value and writer.assigner.facts(process_id).get(column) != value
    }
    assert not wrong
