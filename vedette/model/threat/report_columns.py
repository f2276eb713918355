"""The columns of threat reports and indicators in the telemetry store, as data.

Indicators and values of telemetry meet as 64-bit keys: a hash of the kind and the value, for
networks of the network and its bits. Equal keys of different values are as good as excluded, and
the few rows that are found are compared exactly.
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
    Column("create_time", "time"),  # when it was first stored
    Column("update_time", "time"),  # when its source changed it last
    Column("has_query", "u8"),
    Column("is_ignored", "u8"),
    Column("is_deleted", "u8"),
    Column("ioc_count", "u64"),
    Column("content", "u64"),  # hash of everything that the source says
    Column("sync", "u64"),  # the synchronisation that saw it last
    Column("version", "u64"),
)
"""Scalar columns of `threat_report`."""

REPORT_TEXTS: tuple[str, ...] = (
    *("tags", "md5", "sha256", "ja3", "ja3s", "domain"),
    *("query", "query_index"),  # parallel: text and index_type
    *("network",),  # of more than one address, as written
)
REPORT_ADDRESSES: tuple[str, ...] = ("ipaddr", "ipv6addr")
"""Lists of `threat_report`: its indicators by type; of networks the first address."""

INDICATOR_COLUMNS: tuple[Column, ...] = (
    Column("feed_id", "u32"),
    Column("report_id", "text"),
    Column("ioc_type", "text"),
    Column("value", "text"),  # in its normal form; of queries the text
    Column("index_type", "text"),
    Column("network", "ip"),  # of addresses
    Column("bits", "u8"),  # of its prefix, of 128
    Column("confidence", "u32"),  # in thousandths
    Column("score", "i32"),
    Column("expires", "time"),  # 0: never
    Column("is_deleted", "u8"),
    Column("added", "u64"),  # version of the row with which it was new
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
"""SQL: the key of an indicator."""
