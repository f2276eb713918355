"""The tables of the telemetry store, made from `model/columns.py` and `model/indexes.py`.

- `segment`  one row a (process, window): what `model/columns.py` describes. Partial rows of a
             segment are merged by the engine; read it with FINAL.
- `record`   records without a process, or without a place in the model.
- `binary`   what was seen of a file's image, by hash and sensor.
- `unstored` numbers of records that arrived and made no row, with the reason: so that what is
             missing can be distinguished from what was left out.
- `binary_reading` what was read from a file's bytes, by hash.
- `process`  lookup: in which windows a process has segments. A superset; `segment` decides.
- `correction` metadata that replaces what `segment` has (`store/write/corrections.py`).
- `partition` the wanted state of each time partition (`store/partitions/lifecycle.py`).
- `settled`  which time partitions have all their indexes (`store/partitions/index_build.py`);
             the stored name is older than INDEXED_PARTITION.
- `merging`  since when merges build which indexes (`store/schema/merge_indexes.py`).
- `schema`   the schema versions that were applied.

`detection_tables.py` has those of detection; `TABLES` here lists them all.

Rows that carry telemetry lie in partitions of time (`partition_ms`,
docs/api-objects.md#time-partition), so that a partition of all of them can be detached, attached
and dropped as files.
"""

from vedette.limits import PARTITION_UNCHANGED_S
from vedette.model.columns import (
    CORRECTED,
    EVENT_KINDS,
    KEY,
    METADATA,
    READING,
    SIGHTING,
    Column,
)
from vedette.model.indexes import INDEXES, SEQ_INDEX
from vedette.model.suffix_columns import SUFFIX_COLUMNS
from vedette.store.engine.capabilities import BY_PROCESS, Capabilities
from vedette.store.schema.detection_tables import (
    ALERT,
    BINARY_TAG,
    HIT,
    INDICATOR,
    TAG,
    THREAT_REPORT,
)
from vedette.store.schema.table import (
    COMPACT,
    DURABLE,
    NO_LATE_INDEXES_ON_MERGE,
    Table,
    gathered,
    indexed,
    merged,
    plain,
    set_of,
    suffix_index,
    summed,
)
from vedette.store.sql.scope_filter import SEGMENT_KEY

SCHEMA_VERSION = 8
"""Of the tables below; `store/schema/upgrade.py` has a step for each version after the first."""

CMDLINE_SHAPE = "replaceRegexpAll(lower(cmdline), '[a-z]*[0-9][0-9a-z-]*', '<n>')"
"""The shape of a command line: without words that have a digit, which are numbers, ids and most
encoded texts. What follows a dash belongs to the word, because parts of ids may have no digit. One
simple pattern takes half a microsecond; one for each kind of id takes four times as long."""

BY_PROCESS_COLUMNS: tuple[str, ...] = (
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
        *map(plain, KEY),
        # 64 bits of the whole key: what sets of segments hold (query/compile/document.py).
        f"`key_hash` UInt64 MATERIALIZED cityHash64({SEGMENT_KEY}) CODEC(NONE)",
        *map(merged, METADATA),
        # Which command lines are alike (query-language "what is rare"); 0 without one.
        "`cmdline_shape` SimpleAggregateFunction(max, UInt64) MATERIALIZED "
        f"if(cmdline = '', 0, cityHash64({CMDLINE_SHAPE})) CODEC(ZSTD(1))",
        *(gathered(column) for kind in EVENT_KINDS for column in kind.columns),
        *(summed(f"{kind.name}_count") for kind in EVENT_KINDS),
        # Each record's key is written once, and neighbours differ little: a set would lose the
        # order, and with it three quarters of the compression.
        gathered(Column("record_keys", "u64")),
        set_of("request_keys", "UInt64"),
    ),
    partition_by="partition_ms",
    order_by=f"({SEGMENT_KEY})",
    indexes=(
        *(indexed(column, kind) for column, kind in INDEXES),
        *map(suffix_index, SUFFIX_COLUMNS),
        # For those who follow commits: a part that was not merged since has none of their rows.
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
        # A row is large (30 events and more), and most reads want few of them.
        "index_granularity = 512",
        # A merge holds a block of every part it reads, and a buffer for every stream it writes:
        # with 240 streams the defaults are half a gigabyte.
        "merge_max_block_size = 1024",
        "min_columns_to_activate_adaptive_write_buffer = 1",
        # Paths repeat at a distance: larger blocks save 1 byte an event.
        "min_compress_block_size = 262144",
        # Built once a partition is closed and merged (`store/partitions/index_build.py`); when
        # merges began to make the others is noted (`store/schema/merge_indexes.py`).
        NO_LATE_INDEXES_ON_MERGE,
        # A partition that nothing was written to for so long becomes one part: FINAL costs nothing
        # there, and an index is looked into once.
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
    ),
    partition_by="partition_ms",
    order_by="(channel, event_id, sensor_id, time)",
    indexes=(f"INDEX {SEQ_INDEX} seq TYPE minmax",),
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
"""What was read from the bytes of files. `sensor_id` is 0 for a whole, verified file, else whose
beginning of a file it is; `is_added` is 1 for files that an operator added."""

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

CORRECTION = Table(
    "correction",
    "MergeTree",
    columns=(
        "partition_ms UInt64 CODEC(ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        "process_id String CODEC(ZSTD(1))",
        "windows Array(UInt64) CODEC(ZSTD(1))",
        "seq UInt64 CODEC(ZSTD(1))",
        *map(plain, CORRECTED),
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
    UNSTORED,
    CORRECTION,
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
"""Tables whose partitions live and die together, `segment` first."""

SHARDED: frozenset[str] = frozenset(table.name for table in TABLES if table.sharded)
"""Tables of which each server of a cluster has the rows of its shard; all have a `sensor_id`."""


def storage(table: Table, capabilities: Capabilities) -> str:
    """Name of the table that holds the rows."""
    return capabilities.storage(table.name) if table.sharded else table.name


def definitions(table: Table, capabilities: Capabilities) -> tuple[str, ...]:
    """The statements that create a table where it does not exist."""
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
    """The statement that creates the Distributed table over a sharded one; `replaces`: in place of
    the one there is, at once and without rows of its own."""
    stored = storage(table, capabilities)
    verb = "CREATE OR REPLACE TABLE" if replaces else "CREATE TABLE IF NOT EXISTS"
    return (
        f"{verb} `{table.name}`{capabilities.on_cluster} AS `{stored}` "
        f"ENGINE = Distributed('{capabilities.cluster}', currentDatabase(), '{stored}', "
        f"{capabilities.sharding_key})"
    )


def additions(table: Table, capabilities: Capabilities) -> tuple[str, ...]:
    """The statements that add missing indexes to a table of an older version. Metadata only: parts
    without an index are read without it."""
    if not table.indexes:
        return ()
    added = ", ".join(
        f"ADD {index.replace('INDEX', 'INDEX IF NOT EXISTS', 1)}" for index in table.indexes
    )
    return (f"ALTER TABLE `{storage(table, capabilities)}`{capabilities.on_cluster} {added}",)
