"""Packs the rows of a processed commit into the tables to write."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from vedette.ingest.fold import BinarySighting
from vedette.model.event import BinarySeen
from vedette.pipeline.batch.batch_processor import ProcessedBatch
from vedette.pipeline.batch.deduplicate import HALF
from vedette.pipeline.submission import Receipt
from vedette.store.write.commit import (
    BinaryRow,
    Commit,
    CommitTables,
    HitRow,
    ProcessWindow,
    RecordRow,
    UnstoredRow,
    commit_tables,
)


class PackedCommit(Struct):
    """The tables of a commit, and the receipts to return once they are durable."""

    seq: int
    tables: CommitTables
    receipts: list[Receipt]


def pack(prepared: ProcessedBatch) -> PackedCommit:
    return PackedCommit(prepared.seq, commit_tables(commit_of(prepared)), prepared.receipts)


def commit_of(prepared: ProcessedBatch) -> Commit:
    """Returns the rows of a processed commit."""
    for part in prepared.assigned.parts:
        part.metadata["seq"] = prepared.seq
        part.metadata["first_server_update"] = prepared.now_us
        if "last_update" in part.metadata:
            # Late metadata is not activity of the process: the time of the segment stays.
            part.metadata["last_server_update"] = prepared.now_us
    return Commit(
        segments=prepared.assigned.parts,
        records=list(_records(prepared)),
        binaries=list(_binaries(prepared)),
        processes=[
            ProcessWindow(part.partition_ms, part.process_id, part.sensor_id, part.window_ms)
            for part in prepared.assigned.entered
        ],
        hits=[
            HitRow(
                prepared.partition_ms,
                prepared.hosts[hit.sensor_id]["hostname"],
                hit,
                prepared.now_us,
                prepared.seq,
            )
            for hit in prepared.hits
        ],
        unstored=[
            UnstoredRow(
                prepared.partition_ms, prepared.window_ms, sensor_id, outcome, keys, prepared.seq
            )
            for (sensor_id, outcome), keys in prepared.unstored.items()
        ],
    )


def _records(prepared: ProcessedBatch) -> Iterator[RecordRow]:
    for kept in prepared.folded.kept:
        yield RecordRow(
            prepared.partition_ms,
            kept.sensor_id,
            prepared.hosts[kept.sensor_id]["hostname"],
            kept.record,
            prepared.now_us,
            prepared.seq,
            kept.record_key | HALF if kept.record_key and kept.is_half else kept.record_key,
            0 if kept.record_key else kept.request_key,
        )


def _binaries(prepared: ProcessedBatch) -> Iterator[BinaryRow]:
    for sighting in prepared.folded.binaries.values():
        host: dict[str, Any] = prepared.hosts[sighting.sensor_id]
        for seen in _sightings(sighting):
            yield BinaryRow(
                sighting.sensor_id,
                host["hostname"],
                host["group"],
                host["os_type"],
                seen,
                prepared.now_us,
                prepared.seq,
            )


def _sightings(sighting: BinarySighting) -> Iterator[BinarySeen]:
    """Yields one row for each path of a binary, and one for its last sighting."""
    seen = sighting.binary
    for path in sorted(sighting.paths) or [""]:
        yield _at(seen, path, seen.time_us)
    if sighting.last_seen_us > seen.time_us:
        yield _at(seen, "", sighting.last_seen_us)


def _at(seen: BinarySeen, path: str, time_us: int) -> BinarySeen:
    return BinarySeen(time_us, seen.md5, seen.sha256, seen.sha1, path, seen.values)
