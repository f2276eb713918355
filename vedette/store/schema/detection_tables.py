"""Tables of detection.

- `hit`      rule hits, detected while workers prepare commits.
- `hit_outcome` outcomes of hits that created no alert.
- `tag`, `binary_tag` tags of segments and of binaries (`model/findings/tag.py`).
- `alert`    alerts, one row per version; read it with FINAL.
- `threat_report`, `indicator` reports of feeds and their indicators, one row per version; read them
             with FINAL, and exclude deleted rows.
"""

from vedette.model.columns import KEY, Column
from vedette.model.findings.alert import (
    ALERT_COLUMNS,
    ALERT_IDENTITIES,
    ALERT_MAPS,
    ALERT_TEXTS,
)
from vedette.model.threat.report_columns import (
    INDICATOR_COLUMNS,
    INDICATOR_KEY,
    REPORT_ADDRESSES,
    REPORT_COLUMNS,
    REPORT_TEXTS,
)
from vedette.store.schema.table import (
    COMPACT,
    DURABLE,
    TEXT_CODEC,
    Table,
    plain,
)
from vedette.store.sql.scope_filter import SEGMENT_KEY

HIT_ADDED: tuple[str, ...] = (
    "alert_id String CODEC(ZSTD(1))",
    "rule_name LowCardinality(String) CODEC(ZSTD(1))",
    "level LowCardinality(String) CODEC(ZSTD(1))",
    "process_name LowCardinality(String) CODEC(ZSTD(1))",
    "username LowCardinality(String) CODEC(ZSTD(1))",
)
"""Columns of `hit` that stores of schema 8 lack. They are empty for older hits."""

HIT = Table(
    "hit",
    "MergeTree",
    columns=(
        "partition_ms UInt64 CODEC(Delta(8), ZSTD(1))",
        "seq UInt64 CODEC(Delta(8), ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        "hostname String CODEC(ZSTD(1))",
        "rule_id String CODEC(ZSTD(1))",
        "generation UInt64 CODEC(ZSTD(1))",
        "subject String CODEC(ZSTD(1))",
        "process_id String CODEC(ZSTD(1))",
        "segment_id UInt64 CODEC(ZSTD(1))",
        "md5 String CODEC(ZSTD(1))",
        "time DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1))",
        "last_time DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1))",
        "count UInt64 CODEC(ZSTD(1))",
        "matched Map(String, String) CODEC(ZSTD(1))",
        "event Map(String, String) CODEC(ZSTD(1))",
        "committed DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1))",
        *HIT_ADDED,
    ),
    partition_by="partition_ms",
    order_by="(seq, rule_id, sensor_id, subject)",
    indexes=tuple(
        f"INDEX ix_{name} {name} TYPE bloom_filter(0.01)"
        for name in ("rule_id", "process_id", "alert_id")
    ),
    settings=(*DURABLE, *COMPACT),
)

HIT_OUTCOME = Table(
    "hit_outcome",
    "MergeTree",
    columns=(
        "partition_ms UInt64 CODEC(Delta(8), ZSTD(1))",
        "sensor_id UInt32 CODEC(ZSTD(1))",
        "seq UInt64 CODEC(Delta(8), ZSTD(1))",
        "alert_id String CODEC(ZSTD(1))",
        "outcome LowCardinality(String) CODEC(ZSTD(1))",
    ),
    partition_by="partition_ms",
    order_by="(outcome, seq, alert_id)",
    settings=(*DURABLE, *COMPACT),
)
"""Outcomes of hits that created no alert. A crash may write a row twice."""

_SAID = (
    "said SimpleAggregateFunction(max, "
    "Tuple(time DateTime64(6, 'UTC'), score Int32, link String)) CODEC(ZSTD(1))"
)
"""Data of a tag that later rows may replace: the newest wins. Never read its members under FINAL,
which merges each member separately."""

_WRITTEN = (
    "written SimpleAggregateFunction(max, DateTime64(6, 'UTC')) DEFAULT now64(6, 'UTC') "
    "CODEC(Delta(8), ZSTD(1))"
)
"""Time of writing, from the clock of the store; for readers that follow new tags."""

TAG = Table(
    "tag",
    "AggregatingMergeTree",
    columns=(
        "family String CODEC(ZSTD(1))",
        "name String CODEC(ZSTD(1))",
        *map(plain, KEY),
        f"`key_hash` UInt64 MATERIALIZED cityHash64({SEGMENT_KEY}) CODEC(NONE)",
        "report String CODEC(ZSTD(1))",
        "ioc String CODEC(ZSTD(1))",
        _SAID,
        _WRITTEN,
    ),
    partition_by="partition_ms",
    order_by=f"(family, name, {SEGMENT_KEY}, report, ioc)",
    indexes=("INDEX ix_process_id process_id TYPE bloom_filter(0.01)",),
    settings=(
        *DURABLE,
        *COMPACT,
        "index_granularity = 1024",
        # Both aggregate columns are functions of the sorting key.
        "allow_dimensions_outside_sorting_key = 1",
    ),
)

BINARY_TAG = Table(
    "binary_tag",
    "AggregatingMergeTree",
    columns=(
        "family String CODEC(ZSTD(1))",
        "name String CODEC(ZSTD(1))",
        "hash String CODEC(ZSTD(1))",
        "report String CODEC(ZSTD(1))",
        "ioc String CODEC(ZSTD(1))",
        _SAID,
        _WRITTEN,
    ),
    order_by="(family, name, hash, report, ioc)",
    indexes=("INDEX ix_hash hash TYPE bloom_filter(0.01)",),
    settings=(*DURABLE, *COMPACT, "index_granularity = 1024"),
    sharded=False,
)


def _of_alert(column: Column) -> str:
    """Returns the definition of an alert column. Most strings have a low cardinality, because
    rules, hosts and programs repeat."""
    if column.type != "text" or column.name in ALERT_IDENTITIES:
        return plain(column)
    return f"`{column.name}` LowCardinality(String) {TEXT_CODEC}"


ALERT = Table(
    "alert",
    "ReplacingMergeTree",
    columns=(
        *map(_of_alert, ALERT_COLUMNS),
        *(f"`{name}` Array(String) {TEXT_CODEC}" for name in ALERT_TEXTS),
        *(f"`{name}` Map(String, String) {TEXT_CODEC}" for name in ALERT_MAPS),
    ),
    # All versions of an alert have the same creation time, and new alerts sort after old ones, so
    # merging on read is cheap (measured: 20% of the cost when sorted by id).
    order_by="(created_time, id)",
    version="version",
    indexes=("INDEX ix_id id TYPE bloom_filter(0.001)",),
    # The engine evaluates the dictionaries of repeated strings once per granule: small granules
    # cost twice as much.
    settings=(*DURABLE, *COMPACT, "index_granularity = 8192"),
)
"""Not partitioned by time: alerts outlive their telemetry."""

THREAT_REPORT = Table(
    "threat_report",
    "ReplacingMergeTree",
    columns=(
        *map(plain, REPORT_COLUMNS),
        *(f"`{name}` Array(String) {TEXT_CODEC}" for name in REPORT_TEXTS),
        *(f"`{name}` Array(IPv6) {TEXT_CODEC}" for name in REPORT_ADDRESSES),
    ),
    order_by="(feed_id, report_id)",
    version="version",
    settings=(*DURABLE, *COMPACT, "index_granularity = 1024"),
    sharded=False,
)

INDICATOR = Table(
    "indicator",
    "ReplacingMergeTree",
    columns=(*map(plain, INDICATOR_COLUMNS), f"`key` UInt64 MATERIALIZED {INDICATOR_KEY}"),
    order_by="(feed_id, report_id, ioc_type, value)",
    indexes=("INDEX ix_key key TYPE bloom_filter(0.01)",),
    version="version",
    settings=(*DURABLE, *COMPACT, "index_granularity = 1024"),
    sharded=False,
)
"""`key` is compared with hashed values of telemetry (`model/threat/report_columns.py`)."""
