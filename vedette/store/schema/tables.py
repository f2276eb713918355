"""Tables of the telemetry store, derived from `model/columns.py` and `model/indexes.py`.

- `segment`  one row per (process, window), with the columns of `model/columns.py`. The engine
             merges partial rows of a segment; read it with FINAL.
- `record`   records without a process, or without an event type in the model. Log search reads
             them (`log_columns.py`).
- `binary`   sightings of binaries, by hash and sensor.
- `unstored` keys of records that arrived and created no row, with the reason. They distinguish
             lost records from omitted records.
- `binary_reading` results of reading the bytes of files, by hash.
- `process`  lookup of the windows in which a process has segments. A superset of `segment`.
- `partition` the desired state of each time partition (`store/partitions/lifecycle.py`).
- `settled`  time partitions that have all their indexes (`store/partitions/index_build.py`); the
             stored name is older than INDEXED_PARTITION.
- `merging`  times since which merges build indexes (`store/schema/merge_indexes.py`).
- `schema`   the schema versions that were applied.

`detection_tables.py` defines the detection tables; `TABLES` here lists all tables.

Telemetry is partitioned by time (`partition_ms`, docs/api-objects.md#time-partition), so that a
partition of all tables can be detached, attached and dropped as files.
"""

from vedette.limits import Limit
from vedette.model.columns import CLAIMS, EVENT_KINDS, KEY, METADATA, READING, SIGHTING, Column
from vedette.model.indexes import INDEXES, SEQ_INDEX
from vedette.model.suffix_columns import SUFFIX_COLUMNS
from vedette.model.tokens import SHAPE_WORD, SHAPE_WORD_SHOWN
from vedette.store.engine.capabilities import BY_PROCESS, Capabilities
from vedette.store.schema.detection_tables import (
    ALERT,
    BINARY_TAG,
    HIT,
    HIT_OUTCOME,
    INDICATOR,
    TAG,
    THREAT_REPORT,
)
from vedette.store.schema.log_columns import LOG_COLUMNS, LOG_INDEXES
from vedette.store.schema.table import (
    COMPACT,
    DURABLE,
    NO_LATE_INDEXES_ON_MERGE,
    Table,
    claim,
    element,
    gathered,
    indexed,
    merged,
    plain,
    rank,
    set_of,
    suffix_index,
    summed,
)
from vedette.store.sql.scope_filter import SEGMENT_KEY

PARTITION_UNCHANGED_S: Limit[int] = 6 * 3600
"""Age (s) of the newest part from which a partition is merged into one part. Late rows of a closed
partition cause another merge."""


SCHEMA_VERSION = 10
"""Version of the tables below; `store/schema/upgrade.py` upgrades stores of `OLDEST_VERSION` and
later."""

CMDLINE_SHAPE = f"replaceRegexpAll(lower(cmdline), '{SHAPE_WORD}', '{SHAPE_WORD_SHOWN}')"
"""SQL expression for the shape of a command line. The column `cmdline_shape` has 64 bits of its
hash."""

BY_PROCESS_COLUMNS: tuple[str, ...] = (
    "partition_ms",
    "window_ms",
    "sensor_id",
    "process_id",
    "segment_id",
    "last_update",
    "last_server_update",
    "first_server_update",
    "terminated",
    *(f"{kind.name}_count" for kind in EVENT_KINDS),
)
"""Columns of the projection sorted by process. `segment` is sorted by time, so the segments of a
long process are spread over it. A query without FINAL for these columns of one process reads few
rows of the projection, regardless of the size of the store. The projection does not merge partial
rows: sum the counts, and take the `max` of the other columns."""

SEGMENT = Table(
    "segment",
    "AggregatingMergeTree",
    columns=(
        *map(plain, KEY),
        # 64-bit hash of the whole key, used by sets of segments (query/compile/document.py).
        f"`key_hash` UInt64 MATERIALIZED cityHash64({SEGMENT_KEY}) CODEC(NONE)",
        *(merged(column) for column in METADATA if not column.group),
        *(claim(column) for columns in CLAIMS.values() for column in columns),
        *(element(column) for columns in CLAIMS.values() for column in columns),
        *map(rank, CLAIMS),
        *(gathered(column) for kind in EVENT_KINDS for column in kind.columns),
        *(summed(f"{kind.name}_count") for kind in EVENT_KINDS),
        # Each record's key is written once, and neighboring keys are similar: a set would lose the
        # order, and with it 75% of the compression.
        gathered(Column("record_keys", "u64")),
        set_of("request_keys", "UInt64"),
    ),
    partition_by="partition_ms",
    order_by=f"({SEGMENT_KEY})",
    indexes=(
        *(indexed(column, kind) for column, kind in INDEXES),
        *map(suffix_index, SUFFIX_COLUMNS),
        # For readers that follow commits: the index excludes parts without new rows.
        f"INDEX {SEQ_INDEX} seq TYPE minmax",
    ),
    projections=(
        f"PROJECTION {BY_PROCESS} "
        f"(SELECT {', '.join(BY_PROCESS_COLUMNS)} ORDER BY process_id, segment_id)",
    ),
    settings=(
        *DURABLE,
        *COMPACT,
        "deduplicate_merge_projection_mode = 'rebuild'",
        # A row is large (30 events and more), and most queries need few rows.
        "index_granularity = 512",
        # A merge allocates a block for each source part and a buffer for each output stream: with
        # 240 streams the defaults need 512 MB.
        "merge_max_block_size = 1024",
        "min_columns_to_activate_adaptive_write_buffer = 1",
        # Equal paths are far apart: larger blocks save 1 byte per event.
        "min_compress_block_size = 262144",
        # `store/partitions/index_build.py` builds these indexes after a partition is closed and
        # merged. `store/schema/merge_indexes.py` records since when merges build the others.
        NO_LATE_INDEXES_ON_MERGE,
        # A partition without new rows for this time becomes one part, which makes FINAL free and
        # needs one index lookup.
        f"min_age_to_force_merge_seconds = {PARTITION_UNCHANGED_S}",
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
        *LOG_COLUMNS,
    ),
    partition_by="partition_ms",
    order_by="(channel, event_id, sensor_id, time)",
    indexes=(f"INDEX {SEQ_INDEX} seq TYPE minmax", *LOG_INDEXES),
    settings=(*DURABLE, *COMPACT),
)

UNSTORED = Table(
    "unstored",
    "MergeTree",
    columns=(
        "partition_ms UInt64 CODEC(Delta(8), ZSTD(1))",
        "window_ms UInt64 CODEC(Delta(8), ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        "outcome LowCardinality(String) CODEC(ZSTD(1))",
        "record_keys Array(UInt64) CODEC(Delta(8), ZSTD(1))",
        "seq UInt64 CODEC(Delta(8), ZSTD(1))",
    ),
    partition_by="partition_ms",
    order_by="(window_ms, sensor_id)",
    settings=(*DURABLE, *COMPACT),
)

BINARY_SEEN = Table(
    "binary",
    "AggregatingMergeTree",
    columns=(
        "hash String CODEC(ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        *map(merged, SIGHTING),
        set_of("observed_filename", "String"),
    ),
    order_by="(hash, sensor_id)",
    indexes=tuple(
        f"INDEX ix_{name} {name} TYPE bloom_filter(0.01)" for name in ("md5", "sha256", "sha1")
    ),
    settings=(*DURABLE, *COMPACT, "index_granularity = 1024"),
)

BINARY_READING = Table(
    "binary_reading",
    "ReplacingMergeTree",
    columns=(
        "hash String CODEC(ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        "read_at DateTime64(6, 'UTC') CODEC(ZSTD(1))",
        "is_added UInt8 CODEC(ZSTD(1))",
        *map(plain, READING),
    ),
    order_by="(hash, sensor_id)",
    indexes=("INDEX ix_sha256 sha256 TYPE bloom_filter(0.01)",),
    version="read_at",
    settings=(*DURABLE, *COMPACT, "index_granularity = 1024"),
    sharded=False,
)
"""Results of reading the bytes of files. `sensor_id` is 0 for a complete, verified file, else the
sensor that sent a beginning of the file; `is_added` is 1 for files that an operator added."""

PROCESS = Table(
    "process",
    "AggregatingMergeTree",
    columns=(
        "partition_ms UInt64 CODEC(ZSTD(1))",
        "process_id String CODEC(ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        set_of("windows", "UInt64"),
    ),
    partition_by="partition_ms",
    order_by="(process_id, sensor_id)",
    settings=(*DURABLE, *COMPACT, "index_granularity = 256"),
)

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

INDEXED_PARTITION = Table(
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
    BINARY_READING,
    PROCESS,
    HIT,
    HIT_OUTCOME,
    UNSTORED,
    TAG,
    BINARY_TAG,
    ALERT,
    THREAT_REPORT,
    INDICATOR,
    PARTITION,
    INDEXED_PARTITION,
    MERGING,
    SCHEMA,
)

PARTITIONED: tuple[str, ...] = tuple(table.name for table in TABLES if table.partition_by)
"""Tables whose partitions are detached, attached and dropped together, `segment` first."""

SHARDED: frozenset[str] = frozenset(table.name for table in TABLES if table.sharded)
"""Tables that are split between the shards of a cluster; all have a `sensor_id`."""


def storage(table: Table, capabilities: Capabilities) -> str:
    """Returns the name of the table that stores the rows."""
    return capabilities.storage(table.name) if table.sharded else table.name


def definitions(table: Table, capabilities: Capabilities) -> tuple[str, ...]:
    """Returns the statements that create a table if it does not exist."""
    stored = storage(table, capabilities)
    engine = capabilities.engine(table.family, stored, sharded=table.sharded, version=table.version)
    partition = f"PARTITION BY {table.partition_by}\n" if table.partition_by else ""
    create = (
        f"CREATE TABLE IF NOT EXISTS `{stored}`{capabilities.on_cluster} (\n    "
        + ",\n    ".join(table.columns + table.indexes + table.projections)
        + f"\n) ENGINE = {engine}\n{partition}"
        f"ORDER BY {table.order_by}\nSETTINGS {', '.join(table.settings)}"
    )
    if stored == table.name:
        return (create,)
    return create, distributed(table, capabilities)


def distributed(table: Table, capabilities: Capabilities, *, replaces: bool = False) -> str:
    """Returns the statement that creates the Distributed table over a sharded table. `replaces`:
    atomically replaces an existing table, without moving rows."""
    stored = storage(table, capabilities)
    verb = "CREATE OR REPLACE TABLE" if replaces else "CREATE TABLE IF NOT EXISTS"
    return (
        f"{verb} `{table.name}`{capabilities.on_cluster} AS `{stored}` "
        f"ENGINE = Distributed('{capabilities.cluster}', currentDatabase(), '{stored}', "
        f"{capabilities.sharding_key})"
    )


def additions(table: Table, capabilities: Capabilities) -> tuple[str, ...]:
    """Returns the statements that add missing indexes to a table of an older version. They change
    only metadata: queries read parts without an index in full."""
    if not table.indexes:
        return ()
    added = ", ".join(
        f"ADD {index.replace('INDEX', 'INDEX IF NOT EXISTS', 1)}" for index in table.indexes
    )
    return (f"ALTER TABLE `{storage(table, capabilities)}`{capabilities.on_cluster} {added}",)
