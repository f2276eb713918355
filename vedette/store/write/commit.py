"""A commit: what one durable write holds, and the same as Arrow tables.

Nothing here knows an engine: tables are made wherever commits are prepared, and `insert.py`
hands them over.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import astuple

from vedette.model.columns import BINARY, CORRECTED, EVENT_KINDS, KEY, METADATA, EventKind
from vedette.model.event import BinarySeen, Kept
from vedette.model.findings.detection import RuleHit
from vedette.model.segment import Correction, PartialSegment
from vedette.store.engine.arrow_arrays import array, columns_of, lists, offsets


class RecordRow(Struct, gc=False):
    """A kept record with its place."""

    partition_ms: int
    sensor_id: int
    hostname: str
    kept: Kept
    committed_us: int
    seq: int
    record_key: int = 0
    """`channel code << 48 | record id`; 0 when the record has no id."""
    request_key: int = 0
    """Key of the request that brought it; 0 when `record_key` is set."""


class BinaryRow(Struct, gc=False):
    """A sighting of a binary by one sensor."""

    sensor_id: int
    hostname: str
    group: str
    os_type: str
    seen: BinarySeen
    committed_us: int
    seq: int


class HitRow(Struct, gc=False):
    """What a rule hit, with its place."""

    partition_ms: int
    hostname: str
    hit: RuleHit
    committed_us: int
    seq: int


class UnstoredRow(Struct, gc=False):
    """Keys of records of one sensor that arrived in a commit and made no row."""

    partition_ms: int
    window_ms: int
    sensor_id: int
    outcome: str
    """`not_kept`, `filtered` or `rejected`."""
    record_keys: Sequence[int]
    seq: int


class ProcessWindow(Struct, gc=False):
    """A (process, window) pair that has a segment."""

    partition_ms: int
    process_id: str
    sensor_id: int
    window_ms: int


class Commit(Struct):
    """Everything that one durable write holds."""

    segments: Sequence[PartialSegment] = field(default_factory=list)
    records: Sequence[RecordRow] = field(default_factory=list)
    binaries: Sequence[BinaryRow] = field(default_factory=list)
    processes: Sequence[ProcessWindow] = field(default_factory=list)
    """Only pairs that were not written before, by `known_processes`."""
    corrections: Sequence[Correction] = field(default_factory=list)
    hits: Sequence[HitRow] = field(default_factory=list)
    unstored: Sequence[UnstoredRow] = field(default_factory=list)
    seq: int = 0
    """Number of the commit; only corrections need it."""


class CommitTables(Struct):
    """Arrow tables of a commit, grouped by write order."""

    aside: list[tuple[str, pa.Table]]
    """By table name: written before the segments, in the order of `insert.py`."""
    segments: list[pa.Table]
    """Of `segment`: one insert a partition, the earliest first. Late metadata of earlier segments
    precedes new events: after a crash their record keys must not mark lost metadata as stored."""


def commit_tables(commit: Commit) -> CommitTables:
    return CommitTables(list(_aside(commit)), list(map(segment_table, _by_partition(commit))))


def _aside(commit: Commit) -> Iterator[tuple[str, pa.Table]]:
    if commit.records:
        yield "record", record_table(commit.records)
    if commit.binaries:
        yield "binary", binary_table(commit.binaries)
    if commit.processes:
        yield "process", process_table(commit.processes)
    if commit.hits:
        yield "hit", hit_table(commit.hits)
    if commit.unstored:
        yield "unstored", unstored_table(commit.unstored)
    if commit.corrections:
        yield "correction", correction_table(commit.corrections, commit.seq)


def _by_partition(commit: Commit) -> list[list[PartialSegment]]:
    found: dict[int, list[PartialSegment]] = {}
    for segment in commit.segments:
        found.setdefault(segment.partition_ms, []).append(segment)
    return [found[partition_ms] for partition_ms in sorted(found)]


def segment_table(segments: Sequence[PartialSegment]) -> pa.Table:
    """Partial rows of `segment`. Columns of kinds without any event are left out: empty."""
    columns = {
        column.name: array(list(map(attrgetter(column.name), segments)), column.type)
        for column in KEY
    }
    columns |= columns_of([segment.metadata for segment in segments], METADATA)
    for kind in EVENT_KINDS:
        columns.update(_event_columns(kind, segments))
    for name in ("record_keys", "request_keys"):
        keys = list(map(attrgetter(name), segments))
        flat = array([key for row in keys for key in row], "u64")
        columns[name] = lists(flat, offsets(map(len, keys)))
    return pa.table(columns)


def _event_columns(kind: EventKind, segments: Sequence[PartialSegment]) -> dict[str, pa.Array]:
    name = kind.name
    rows = [segment.events.get(name, ()) for segment in segments]
    events = [event for row in rows for event in row]
    if not events:
        return {}
    counts = list(map(len, rows))
    starts = offsets(counts)
    columns = {f"{name}_count": array(counts, "u64")}
    # All values of an event at once: half of what one look a value costs.
    by_field = zip(*map(astuple, events), strict=True)
    values = dict(zip(events[0].__struct_fields__, by_field, strict=True))
    for column, (attribute, _) in zip(kind.columns, kind.fields, strict=True):
        flat = array(values["time_us" if attribute == "time" else attribute], column.type)
        columns[column.name] = lists(flat, starts)
    return columns


def record_table(rows: Sequence[RecordRow]) -> pa.Table:
    """Rows of `record`."""
    kept = [row.kept for row in rows]
    return pa.table(
        {
            "partition_ms": array([row.partition_ms for row in rows], "u64"),
            "sensor_id": array([row.sensor_id for row in rows], "u32"),
            "hostname": array([row.hostname for row in rows], "text"),
            "time": array([record.time_us for record in kept], "time"),
            "channel": array([record.channel for record in kept], "text"),
            "event_id": array([record.event_id for record in kept], "u32"),
            "record_id": array([record.record_id for record in kept], "u64"),
            "provider": array([record.provider for record in kept], "text"),
            "fields": _maps([record.fields for record in kept]),
            "committed": array([row.committed_us for row in rows], "time"),
            "seq": array([row.seq for row in rows], "u64"),
            "record_key": array([row.record_key for row in rows], "u64"),
            "request_key": array([row.request_key for row in rows], "u64"),
        }
    )


def binary_table(rows: Sequence[BinaryRow]) -> pa.Table:
    """Rows of `binary`, keyed by md5 where it is known, else by the next best hash."""
    seen = [row.seen for row in rows]
    paths = [[binary.path] if binary.path else [] for binary in seen]
    columns = {
        "hash": array([binary.md5 or binary.sha256 or binary.sha1 for binary in seen], "text"),
        "sensor_id": array([row.sensor_id for row in rows], "u32"),
        "md5": array([binary.md5 for binary in seen], "text"),
        "sha256": array([binary.sha256 for binary in seen], "text"),
        "sha1": array([binary.sha1 for binary in seen], "text"),
        "first_seen": array([binary.time_us for binary in seen], "time"),
        "last_seen": array([binary.time_us for binary in seen], "time"),
        "added": array([row.committed_us for row in rows], "time"),
        "observed_filename": lists(
            array([path for row in paths for path in row], "text"), offsets(map(len, paths))
        ),
        "os_type": array([row.os_type for row in rows], "text"),
        "group": array([row.group for row in rows], "text"),
        "hostname": array([row.hostname for row in rows], "text"),
        "seq": array([row.seq for row in rows], "u64"),
    }
    for column in BINARY:
        values = [binary.values.get(column.name, "") for binary in seen]
        numbers = column.type != "text"
        columns[column.name] = array(
            [int(value or 0) for value in values] if numbers else values, column.type
        )
    return pa.table(columns)


def unstored_table(rows: Sequence[UnstoredRow]) -> pa.Table:
    """Rows of `unstored`."""
    keys = [sorted(row.record_keys) for row in rows]
    return pa.table(
        {
            "partition_ms": array([row.partition_ms for row in rows], "u64"),
            "window_ms": array([row.window_ms for row in rows], "u64"),
            "sensor_id": array([row.sensor_id for row in rows], "u32"),
            "outcome": array([row.outcome for row in rows], "text"),
            "record_keys": lists(
                array([key for row in keys for key in row], "u64"), offsets(map(len, keys))
            ),
            "seq": array([row.seq for row in rows], "u64"),
        }
    )


def hit_table(rows: Sequence[HitRow]) -> pa.Table:
    """Rows of `hit`."""
    hits = [row.hit for row in rows]
    return pa.table(
        {
            "partition_ms": array([row.partition_ms for row in rows], "u64"),
            "seq": array([row.seq for row in rows], "u64"),
            "sensor_id": array([hit.sensor_id for hit in hits], "u32"),
            "hostname": array([row.hostname for row in rows], "text"),
            "rule_id": array([hit.rule_id for hit in hits], "text"),
            "generation": array([hit.generation for hit in hits], "u64"),
            "subject": array([hit.subject for hit in hits], "text"),
            "process_id": array([hit.process_id for hit in hits], "text"),
            "segment_id": array([hit.segment_id for hit in hits], "u64"),
            "md5": array([hit.md5 for hit in hits], "text"),
            "time": array([hit.time_us for hit in hits], "time"),
            "last_time": array([hit.last_us for hit in hits], "time"),
            "count": array([hit.count for hit in hits], "u64"),
            "matched": _maps([hit.matched for hit in hits]),
            "event": _maps([hit.event for hit in hits]),
            "committed": array([row.committed_us for row in rows], "time"),
        }
    )


def _maps(rows: Sequence[Mapping[str, str]]) -> pa.MapArray:
    pairs = [pair for row in rows for pair in row.items()]
    return pa.MapArray.from_arrays(
        offsets(map(len, rows)),
        array([key for key, _ in pairs], "text"),
        array([value for _, value in pairs], "text"),
    )


def process_table(rows: Sequence[ProcessWindow]) -> pa.Table:
    """Rows of `process`."""
    return pa.table(
        {
            "partition_ms": array([row.partition_ms for row in rows], "u64"),
            "process_id": array([row.process_id for row in rows], "text"),
            "sensor_id": array([row.sensor_id for row in rows], "u32"),
            "windows": lists(
                array([row.window_ms for row in rows], "u64"), offsets(1 for _ in rows)
            ),
        }
    )


def correction_table(rows: Sequence[Correction], seq: int) -> pa.Table:
    """Rows of `correction`."""
    windows = [row.windows for row in rows]
    columns = {
        "partition_ms": array([row.partition_ms for row in rows], "u64"),
        "sensor_id": array([row.sensor_id for row in rows], "u32"),
        "process_id": array([row.process_id for row in rows], "text"),
        "windows": lists(
            array([window for row in windows for window in row], "u64"), offsets(map(len, windows))
        ),
        "seq": array([seq] * len(rows), "u64"),
    }
    return pa.table(columns | columns_of([row.values for row in rows], CORRECTED))
