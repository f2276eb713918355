"""The tables of the telemetry store, made from `model/columns.py` and `model/indexes.py`.

- `segment`  one row a (process, window): what `model/columns.py` describes. Partial rows of a
             segment are merged by the engine; read it with FINAL.
- `record`   records without a process, or without a place in the model.
- `binary`   what was seen of a file's image, by hash and sensor.
- `process`  lookup: in which windows a process has segments. A superset; `segment` decides.
- `correction` metadata that replaces what `segment` has (`store/write/corrections.py`).
- `partition` the wanted state of each time partition (`store/partitions/lifecycle.py`).
- `settled`  which time partitions have all their indexes (`store/partitions/index_build.py`).
- `merging`  since when merges build which indexes (`store/schema/merge_indexes.py`).
- `schema`   the schema versions that were applied.

Rows that carry telemetry lie in partitions of time (`partition_ms`,
docs/api-objects.md#time-partition), so that a partition of all of them can be detached, attached
and dropped as files.
"""

from dataclasses import dataclass
from typing import Literal

from vedette.model.columns import (
    CORRECTED,
    EVENT_KINDS,
    KEY,
    METADATA,
    SIGHTING,
    Column,
    ColumnType,
)
from vedette.model.indexes import INDEX_TYPES, INDEXES, IndexKind, index_name, indexed_sql
from vedette.model.suffix_columns import ENDS, ENDS_TYPE, MERGED_ENDS, ends_index, ends_sql
from vedette.store.engine.capabilities import OUTLINES, Capabilities
from vedette.store.sql.scope_filter import SEGMENT_KEY

SCHEMA_VERSION = 2
"""Of the tables below; `store/schema/upgrade.py` has a step for each version after the first."""

Family = Literal["MergeTree", "AggregatingMergeTree"]

SQL_TYPES: dict[ColumnType, str] = {
    "text": "String",
    "u8": "UInt8",
    "u16": "UInt16",
    "u32": "UInt32",
    "u64": "UInt64",
    "i32": "Int32",
    "time": "DateTime64(6, 'UTC')",
    "ip": "IPv6",
}

TEXT_CODEC = "CODEC(ZSTD(1))"
CODECS: dict[ColumnType, str] = {
    "time": "CODEC(Delta(8), ZSTD(1))",
    "u64": "CODEC(Delta(8), ZSTD(1))",
}
"""Event times of a segment lie close together, and most senders have whole milliseconds."""

DURABLE = (
    "fsync_after_insert = 1",
    "fsync_part_directory = 1",
    # A merged part replaces parts that were synced: it must not be weaker than they.
    "min_rows_to_fsync_after_merge = 1",
    "old_parts_lifetime = 60",
)
LATER_ENDS = ",".join(ends_index(column) for column in ENDS if column not in MERGED_ENDS)
NO_ENDS_ON_MERGE = f"exclude_materialize_skip_indexes_on_merge = '{LATER_ENDS}'"
SETTLED_AFTER_S = 6 * 3600
"""Seconds after the last write. Late rows of a closed partition cause another merge."""

COMPACT = (
    # A part is one file of data until it is worth a file for each of 150 columns: an insert
    # would sync them one by one.
    "min_bytes_for_wide_part = 67108864",
)

IN_SMALL_BLOCKS = "SETTINGS (min_compress_block_size = 32768, max_compress_block_size = 65536)"
"""For text: a page of results reads ten rows from ten places, each a block to decompress."""

REPEATED = frozenset(
    (
        *("hostname", "group", "os_type", "host_type", "username"),
        *("path", "process_name", "process_md5", "parent_name"),
    )
)
"""Low-cardinality text. Functions run once for each dictionary entry, which makes grouping and
predicates several times faster."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table definition. Columns are written `name type codec`, ready for SQL."""

    name: str
    family: Family
    columns: tuple[str, ...]
    order_by: str
    partition_by: str = ""
    indexes: tuple[str, ...] = ()
    projections: tuple[str, ...] = ()
    settings: tuple[str, ...] = DURABLE
    sharded: bool = True
    """False for tables of which every server holds a full copy."""

    @property
    def index_names(self) -> tuple[str, ...]:
        return tuple(index.split()[1].strip("`") for index in self.indexes)


def _plain(column: Column) -> str:
    return f"`{column.name}` {SQL_TYPES[column.type]} {CODECS.get(column.type, TEXT_CODEC)}"


def _merged(column: Column) -> str:
    kind = SQL_TYPES[column.type]
    if column.name in REPEATED:
        kind = f"LowCardinality({kind})"
    codec = CODECS.get(column.type, TEXT_CODEC)
    blocks = f" {IN_SMALL_BLOCKS}" if column.type == "text" else ""
    return f"`{column.name}` SimpleAggregateFunction({column.merge}, {kind}) {codec}{blocks}"


def _gathered(column: Column) -> str:
    kind = SQL_TYPES[column.type]
    codec = CODECS.get(column.type, TEXT_CODEC)
    blocks = f" {IN_SMALL_BLOCKS}" if column.type == "text" else ""
    return (
        f"`{column.name}` SimpleAggregateFunction(groupArrayArray, Array({kind})) {codec}{blocks}"
    )


def _summed(name: str) -> str:
    return f"`{name}` SimpleAggregateFunction(sum, UInt64) {TEXT_CODEC}"


def _set_of(name: str, kind: str) -> str:
    return f"`{name}` SimpleAggregateFunction(groupUniqArrayArray, Array({kind})) CODEC(ZSTD(1))"


def _index(column: str, kind: IndexKind) -> str:
    return f"INDEX `{index_name(column)}` {indexed_sql(column)} TYPE {INDEX_TYPES[kind]}"


def _ends_index(column: str) -> str:
    return f"INDEX `{ends_index(column)}` {ends_sql(column)} TYPE {ENDS_TYPE}"


OUTLINE: tuple[str, ...] = (
    *("partition_ms", "window_ms", "sensor_id", "process_id", "segment_id"),
    *("last_update", "last_server_update", "first_server_update", "terminated"),
    *(f"{kind.name}_count" for kind in EVENT_KINDS),
)
"""Columns of the projection, sorted by process: `segment` is sorted by time, and the segments of a
long process are spread over it. A query of one process for these columns only, without FINAL, reads
few rows here, whatever the size of the store. Partial rows are not merged here: sum the counts,
and take the `max` of the rest."""

SEGMENT = Table(
    "segment",
    "AggregatingMergeTree",
    columns=(
        *map(_plain, KEY),
        # 64 bits of the whole key: what sets of segments hold (query/compile/document.py).
        f"`key_hash` UInt64 MATERIALIZED cityHash64({SEGMENT_KEY}) CODEC(NONE)",
        *map(_merged, METADATA),
        *(_gathered(column) for kind in EVENT_KINDS for column in kind.columns),
        *(_summed(f"{kind.name}_count") for kind in EVENT_KINDS),
        # Each record's key is written once, and neighbours differ little: a set would lose the
        # order, and with it three quarters of the compression.
        _gathered(Column("record_keys", "u64")),
        _set_of("request_keys", "UInt64"),
    ),
    partition_by="partition_ms",
    order_by=f"({SEGMENT_KEY})",
    indexes=(*(_index(column, kind) for column, kind in INDEXES), *map(_ends_index, ENDS)),
    projections=(
        f"PROJECTION {OUTLINES} (SELECT {', '.join(OUTLINE)} ORDER BY process_id, segment_id)",
    ),
    settings=(
        *DURABLE,
        *COMPACT,
        "deduplicate_merge_projection_mode = 'rebuild'",
        # A row is large (30 events and more), and most reads want few of them.
        "index_granularity = 512",
        # A merge holds a block of every part it reads, and a buffer for every stream it writes:
        # with 240 streams the defaults are half a gigabyte.
        "merge_max_block_size = 1024",
        "min_columns_to_activate_adaptive_write_buffer = 1",
        # Paths repeat at a distance: larger blocks save 1 byte an event.
        "min_compress_block_size = 262144",
        # Those are made once a partition is settled (`store/partitions/index_build.py`); when
        # merges began to make the others is noted (`store/schema/merge_indexes.py`).
        NO_ENDS_ON_MERGE,
        # A partition that nothing was written to for so long becomes one part: FINAL costs nothing
        # there, and an index is looked into once.
        f"min_age_to_force_merge_seconds = {SETTLED_AFTER_S}",
        "min_age_to_force_merge_on_partition_only = 1",
        "enable_max_bytes_limit_for_min_age_to_force_merge = 1",
    ),
)

RECORD = Table(
    "record",
    "MergeTree",
    columns=(
        "partition_ms UInt64 CODEC(Delta(8), ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        "hostname String CODEC(ZSTD(1))",
        "time DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1))",
        "channel String CODEC(ZSTD(1))",
        "event_id UInt32 CODEC(ZSTD(1))",
        "record_id UInt64 CODEC(Delta(8), ZSTD(1))",
        "provider String CODEC(ZSTD(1))",
        "fields Map(String, String) CODEC(ZSTD(1))",
        "committed DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1))",
        "seq UInt64 CODEC(Delta(8), ZSTD(1))",
        "record_key UInt64 CODEC(Delta(8), ZSTD(1))",
        "request_key UInt64 CODEC(ZSTD(1))",
    ),
    partition_by="partition_ms",
    order_by="(channel, event_id, sensor_id, time)",
    settings=(*DURABLE, *COMPACT),
)

BINARY_SEEN = Table(
    "binary",
    "AggregatingMergeTree",
    columns=(
        "hash String CODEC(ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        *map(_merged, SIGHTING),
        _set_of("observed_filename", "String"),
    ),
    order_by="(hash, sensor_id)",
    indexes=tuple(
        f"INDEX ix_{name} {name} TYPE bloom_filter(0.01)" for name in ("md5", "sha256", "sha1")
    ),
    settings=(*DURABLE, *COMPACT, "index_granularity = 1024"),
)

PROCESS = Table(
    "process",
    "AggregatingMergeTree",
    columns=(
        "partition_ms UInt64 CODEC(ZSTD(1))",
        "process_id String CODEC(ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        _set_of("windows", "UInt64"),
    ),
    partition_by="partition_ms",
    order_by="(process_id, sensor_id)",
    settings=(*DURABLE, *COMPACT, "index_granularity = 256"),
)

CORRECTION = Table(
    "correction",
    "MergeTree",
    columns=(
        "partition_ms UInt64 CODEC(ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        "process_id String CODEC(ZSTD(1))",
        "windows Array(UInt64) CODEC(ZSTD(1))",
        "seq UInt64 CODEC(ZSTD(1))",
        *map(_plain, CORRECTED),
    ),
    order_by="(partition_ms, process_id, seq)",
    settings=(*DURABLE, *COMPACT),
)
"""Corrections that are not applied yet; empty most of the time."""

PARTITION = Table(
    "partition",
    "MergeTree",
    columns=(
        "opened_ms UInt64",
        "state String",
        "closed_ms UInt64",
        "user_mounted UInt8",
        "version UInt64",
    ),
    order_by="(opened_ms, version)",
    sharded=False,
)

SETTLED = Table(
    "settled",
    "MergeTree",
    columns=(
        "opened_ms UInt64",
        "blocks UInt64",
        "is_made UInt8",
        "noted DateTime64(6, 'UTC')",
    ),
    order_by="(opened_ms, noted)",
    sharded=False,
)

MERGING = Table(
    "merging",
    "MergeTree",
    columns=("made String", "after_ms UInt64", "noted DateTime64(6, 'UTC')"),
    order_by="noted",
    sharded=False,
)

SCHEMA = Table(
    "schema",
    "MergeTree",
    columns=("version UInt32", "applied DateTime64(6, 'UTC')"),
    order_by="version",
    sharded=False,
)

TABLES: tuple[Table, ...] = (
    SEGMENT,
    RECORD,
    BINARY_SEEN,
    PROCESS,
    CORRECTION,
    PARTITION,
    SETTLED,
    MERGING,
    SCHEMA,
)

PARTITIONED: tuple[str, ...] = tuple(table.name for table in TABLES if table.partition_by)
"""Tables whose partitions live and die together, `segment` first."""


def definitions(table: Table, capabilities: Capabilities) -> tuple[str, ...]:
    """The statements that create a table where it does not exist."""
    storage = capabilities.storage(table.name) if table.sharded else table.name
    engine = capabilities.engine(table.family, storage, sharded=table.sharded)
    partition = f"PARTITION BY {table.partition_by}\n" if table.partition_by else ""
    create = (
        f"CREATE TABLE IF NOT EXISTS `{storage}`{capabilities.on_cluster} (\n    "
        + ",\n    ".join(table.columns + table.indexes + table.projections)
        + f"\n) ENGINE = {engine}\n{partition}"
        f"ORDER BY {table.order_by}\nSETTINGS {', '.join(table.settings)}"
    )
    if storage == table.name:
        return (create,)
    route = (
        f"CREATE TABLE IF NOT EXISTS `{table.name}`{capabilities.on_cluster} AS `{storage}` "
        f"ENGINE = Distributed('{capabilities.cluster}', currentDatabase(), '{storage}', "
        f"{capabilities.sharding_key})"
    )
    return create, route


def additions(table: Table, capabilities: Capabilities) -> tuple[str, ...]:
    """The statements that add missing indexes to a table of an older version. Metadata only: parts
    without an index are read without it."""
    if not table.indexes:
        return ()
    added = ", ".join(
        f"ADD {index.replace('INDEX', 'INDEX IF NOT EXISTS', 1)}" for index in table.indexes
    )
    return (f"ALTER TABLE `{capabilities.storage(table.name)}`{capabilities.on_cluster} {added}",)
