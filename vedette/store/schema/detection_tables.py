"""The tables of detection.

- `hit`      what rules found while commits were prepared.
- `tag`, `binary_tag` what detection said of segments and of binaries (`model/findings/tag.py`).
- `alert`    alerts, a row for every version of each; read it with FINAL.
- `threat_report`, `indicator` reports of feeds and what they look for, in all their versions; read
             them with FINAL, and without what is deleted.
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
    ),
    partition_by="partition_ms",
    order_by="(seq, rule_id, sensor_id, subject)",
    settings=(*DURABLE, *COMPACT),
)

_SAID = (
    "said SimpleAggregateFunction(max, "
    "Tuple(time DateTime64(6, 'UTC'), score Int32, link String)) CODEC(ZSTD(1))"
)
"""What a tag may say anew: the newest counts. Never read its members under FINAL, which merges
each for itself."""

_WRITTEN = (
    "written SimpleAggregateFunction(max, DateTime64(6, 'UTC')) DEFAULT now64(6, 'UTC') "
    "CODEC(Delta(8), ZSTD(1))"
)
"""When the row was written, by the clock of the store: for those who follow tags."""

TAG = Table(
    "tag",
    "AggregatingMergeTree",
    columns=(
        *("family String CODEC(ZSTD(1))", "name String CODEC(ZSTD(1))"),
        *map(plain, KEY),
        f"`key_hash` UInt64 MATERIALIZED cityHash64({SEGMENT_KEY}) CODEC(NONE)",
        *("report String CODEC(ZSTD(1))", "ioc String CODEC(ZSTD(1))"),
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
        # Both are functions of the sorting key.
        "allow_dimensions_outside_sorting_key = 1",
    ),
)

BINARY_TAG = Table(
    "binary_tag",
    "AggregatingMergeTree",
    columns=(
        *("family String CODEC(ZSTD(1))", "name String CODEC(ZSTD(1))"),
        *("hash String CODEC(ZSTD(1))", "report String CODEC(ZSTD(1))"),
        *("ioc String CODEC(ZSTD(1))", _SAID, _WRITTEN),
    ),
    order_by="(family, name, hash, report, ioc)",
    indexes=("INDEX ix_hash hash TYPE bloom_filter(0.01)",),
    settings=(*DURABLE, *COMPACT, "index_granularity = 1024"),
    sharded=False,
)


def _of_alert(column: Column) -> str:
    """Nearly all texts of alerts repeat: those of rules, hosts and programs."""
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
    # Versions of an alert have one creation time, and new alerts lie behind the old ones: merging
    # at reading is cheap (measured: a fifth of an order by id).
    order_by="(created_time, id)",
    version="version",
    indexes=("INDEX ix_id id TYPE bloom_filter(0.001)",),
    # Dictionaries of repeated texts are evaluated once a granule: small ones cost twice as much.
    settings=(*DURABLE, *COMPACT, "index_granularity = 8192"),
)
"""Not in partitions of time: alerts outlive the telemetry that they were made of."""

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
"""`key` is what values of telemetry are compared with (`model/threat/report_columns.py`)."""
