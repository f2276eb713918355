"""Contents of a commit (one durable write) and their conversion to Arrow tables.

This module does not depend on an engine: workers build the tables, and `insert.py` inserts them.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from struct import pack
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field
from msgspec.structs import astuple
from xxhash import xxh64_intdigest

from vedette.model.columns import (
    BINARY,
    CLAIMS,
    EVENT_KINDS,
    KEY,
    METADATA,
    RANK_LENGTH,
    RANKS,
    SHAPE,
    EventKind,
)
from vedette.model.event import BinarySeen, Kept
from vedette.model.findings.detection import RuleHit
from vedette.model.segment import PartialSegment
from vedette.model.tokens import SHAPE_WORD, SHAPE_WORD_SHOWN
from vedette.store.engine.arrow_arrays import TIMESTAMP, array, columns_of, lists, offsets


class RecordRow(Struct, gc=False):
    """A record without a segment, with its partition and host."""

    partition_ms: int
    sensor_id: int
    hostname: str
    kept: Kept
    committed_us: int
    seq: int
    record_key: int = 0
    """`channel code << 48 | record id`; 0 if the record has no id."""
    request_key: int = 0
    """Key of the record's request; 0 if `record_key` is set."""


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
    """A rule hit, with its partition and host."""

    partition_ms: int
    hostname: str
    hit: RuleHit
    committed_us: int
    seq: int


class UnstoredRow(Struct, gc=False):
    """Keys of one sensor's records in a commit that created no row."""

    partition_ms: int
    window_ms: int
    sensor_id: int
    outcome: str
    """`not_kept`, `filtered` or `rejected`."""
    record_keys: Sequence[int]
    seq: int


class ProcessWindow(Struct, gc=False):
    """A process and a window in which it has a segment."""

    partition_ms: int
    process_id: str
    sensor_id: int
    window_ms: int


class Commit(Struct):
    """Rows of one durable write, by table."""

    segments: Sequence[PartialSegment] = field(default_factory=list)
    records: Sequence[RecordRow] = field(default_factory=list)
    binaries: Sequence[BinaryRow] = field(default_factory=list)
    processes: Sequence[ProcessWindow] = field(default_factory=list)
    """Only pairs that `known_processes` does not report as written."""
    hits: Sequence[HitRow] = field(default_factory=list)
    unstored: Sequence[UnstoredRow] = field(default_factory=list)


class CommitTables(Struct):
    """Arrow tables of a commit, grouped by write order."""

    aside: list[tuple[str, pa.Table]]
    """(table name, rows) of the tables that are written before the segments, in the order of
    `insert.py`."""
    segments: list[pa.Table]
    """Rows of `segment`: one insert for each partition, the earliest first. Late metadata of
    earlier segments precedes new events: after a crash their record keys must not mark lost
    metadata as stored."""


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


def _by_partition(commit: Commit) -> list[list[PartialSegment]]:
    found: dict[int, list[PartialSegment]] = {}
    for segment in commit.segments:
        found.setdefault(segment.partition_ms, []).append(segment)
    return [found[partition_ms] for partition_ms in sorted(found)]


def segment_table(segments: Sequence[PartialSegment]) -> pa.Table:
    """Returns partial rows of `segment` as an Arrow table. Omits the columns of event kinds without
    events."""
    columns = {
        column.name: array(list(map(attrgetter(column.name), segments)), column.type)
        for column in KEY
    }
    columns |= _with_claims(columns_of([segment.metadata for segment in segments], METADATA))
    for kind in EVENT_KINDS:
        columns.update(_event_columns(kind, segments))
    for name in ("record_keys", "request_keys"):
        keys = list(map(attrgetter(name), segments))
        flat = array([key for row in keys for key in row], "u64")
        columns[name] = lists(flat, offsets(map(len, keys)))
    return pa.table(columns)


def _with_claims(metadata: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Replaces metadata columns of groups by the stored columns, whose values have the rank in
    front."""
    metadata[SHAPE.name] = _shapes(metadata["cmdline"])
    for group, members in CLAIMS.items():
        ranks = metadata.pop(RANKS[group].name).to_pylist()
        before = pa.array([rank.to_bytes(RANK_LENGTH, "big") for rank in ranks], pa.binary())
        for column in members:
            values = metadata.pop(column.name)
            metadata[column.physical] = (
                pc.binary_join_element_wise(before, values.cast(pa.binary()), b"")
                if column.type == "text"
                else _ranked_numbers(ranks, values)
            )
    return metadata


def _ranked_numbers(ranks: list[int], values: pa.Array) -> pa.Array:
    """Combines rank (upper 64 bits) and number (lower 64 bits) into UInt128 values."""
    numbers = (
        values.view(pa.int64()).to_pylist() if values.type == TIMESTAMP else values.to_pylist()
    )
    halves = [half & _U64_MAX for pair in zip(numbers, ranks, strict=True) for half in pair]
    data = pa.py_buffer(pack(f"<{len(halves)}Q", *halves))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ranks), [None, data])


_U64_MAX: Final = 2**64 - 1


def _shapes(lines: pa.Array) -> pa.Array:
    """Returns 64-bit hashes of the shapes of command lines; 0 for empty lines, which most rows
    have."""
    if not pc.any(pc.not_equal(lines, "")).as_py():
        return array([0] * len(lines), "u64")
    shapes = pc.replace_substring_regex(pc.ascii_lower(lines), SHAPE_WORD, SHAPE_WORD_SHOWN)
    return array(
        [xxh64_intdigest(shape.encode()) if shape else 0 for shape in shapes.to_pylist()], "u64"
    )


def _event_columns(kind: EventKind, segments: Sequence[PartialSegment]) -> dict[str, pa.Array]:
    name = kind.name
    rows = [segment.events.get(name, ()) for segment in segments]
    events = [event for row in rows for event in row]
    if not events:
        return {}
    counts = list(map(len, rows))
    starts = offsets(counts)
    columns = {f"{name}_count": array(counts, "u64")}
    # Reading all values of an event at once takes half the time of reading each.
    by_field = zip(*map(astuple, events), strict=True)
    values = dict(zip(events[0].__struct_fields__, by_field, strict=True))
    for column, (attribute, _) in zip(kind.columns, kind.fields, strict=True):
        flat = array(values["time_us" if attribute == "time" else attribute], column.type)
        columns[column.name] = lists(flat, starts)
    return columns


def record_table(rows: Sequence[RecordRow]) -> pa.Table:
    """Returns the rows as an Arrow table for `record`."""
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
            "level": array([record.level for record in kept], "text"),
        }
    )


def binary_table(rows: Sequence[BinaryRow]) -> pa.Table:
    """Returns the rows as an Arrow table for `binary`. The key is the MD5, SHA-256 or SHA-1, the
    first that is available."""
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
    """Returns the rows as an Arrow table for `unstored`."""
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
    """Returns the rows as an Arrow table for `hit`."""
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
            "alert_id": array([hit.alert_id for hit in hits], "text"),
            "rule_name": array([hit.rule_name for hit in hits], "text"),
            "level": array([hit.level for hit in hits], "text"),
            "process_name": array([hit.process_name for hit in hits], "text"),
            "username": array([hit.username for hit in hits], "text"),
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
    """Returns the rows as an Arrow table for `process`."""
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
