"""Columns of threat reports and indicators in the telemetry store.

Indicators are joined with values of telemetry by 64-bit keys: a hash of type and value, or of
network and prefix length. Collisions are next to impossible, and the few matching rows are compared
exactly.
"""

from vedette.model.columns import Column

REPORT_COLUMNS: tuple[Column, ...] = (
    Column("feed_id", "u32"),
    Column("report_id", "text"),
    Column("feed_name", "text"),
    Column("feed_category", "text"),
    Column("title", "text"),
    Column("description", "text"),
    Column("link", "text"),
    Column("score", "i32"),
    Column("create_time", "time"),  # time when the report was first stored
    Column("update_time", "time"),  # time of the last change by the source
    Column("has_query", "u8"),
    Column("is_ignored", "u8"),
    Column("is_deleted", "u8"),
    Column("ioc_count", "u64"),
    Column("content", "u64"),  # hash of the report's content
    Column("sync", "u64"),  # newest synchronization that contained the report
    Column("version", "u64"),
)
"""Scalar columns of `threat_report`."""

REPORT_TEXTS: tuple[str, ...] = (
    "tags",
    "md5",
    "sha256",
    "ja3",
    "ja3s",
    "domain",
    "query",
    "query_index",  # parallel: text and index_type
    "network",  # networks of more than one address, as written
)
REPORT_ADDRESSES: tuple[str, ...] = ("ipaddr", "ipv6addr")
"""Columns of `threat_report` with addresses of indicators; for a network, its first address."""

INDICATOR_COLUMNS: tuple[Column, ...] = (
    Column("feed_id", "u32"),
    Column("report_id", "text"),
    Column("ioc_type", "text"),
    Column("value", "text"),  # in normal form; for queries, the text
    Column("index_type", "text"),
    Column("network", "ip"),  # for addresses
    Column("bits", "u8"),  # prefix length, out of 128
    Column("confidence", "u32"),  # thousandths
    Column("score", "i32"),
    Column("expires", "time"),  # 0: never
    Column("is_deleted", "u8"),
    Column("added", "u64"),  # version of the row that first contained the indicator
    Column("version", "u64"),
)

ADDRESS_KEY = "sipHash64('ip', {network}, toUInt8({bits}))"
VALUE_KEY = "sipHash64({kind}, {value})"

INDICATOR_KEY = (
    "multiIf(ioc_type IN ('ipv4', 'ipv6'), "
    + ADDRESS_KEY.format(network="network", bits="bits")
    + ", "
    + VALUE_KEY.format(kind="ioc_type", value="value")
    + ")"
)
"""SQL for the key of an indicator."""
