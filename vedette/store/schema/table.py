"""Describes tables: columns as SQL, codecs, settings, and the type `Table`."""

from dataclasses import dataclass
from typing import Literal

from vedette.model.columns import CLAIMS, RANKS, Column, ColumnType
from vedette.model.indexes import (
    INDEX_TYPES,
    IndexKind,
    index_name,
    indexed_sql,
)
from vedette.model.suffix_columns import (
    MERGED_SUFFIX_COLUMNS,
    SUFFIX_COLUMNS,
    SUFFIX_INDEX_TYPE,
    suffix_index_name,
    suffix_tokens_sql,
)

Family = Literal["MergeTree", "AggregatingMergeTree", "ReplacingMergeTree"]

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
"""Event times within a segment are close together, and most senders report whole milliseconds."""

DURABLE = (
    "fsync_after_insert = 1",
    "fsync_part_directory = 1",
    # A merged part replaces synced parts and must be equally durable.
    "min_rows_to_fsync_after_merge = 1",
    "old_parts_lifetime = 60",
)
LATE_SUFFIX_INDEXES = ",".join(
    suffix_index_name(column) for column in SUFFIX_COLUMNS if column not in MERGED_SUFFIX_COLUMNS
)
NO_LATE_INDEXES_ON_MERGE = f"exclude_materialize_skip_indexes_on_merge = '{LATE_SUFFIX_INDEXES}'"

COMPACT = (
    # Stores a part in one data file until its size justifies a file for each of 150 columns, each
    # of which an insert would sync separately.
    "min_bytes_for_wide_part = 67108864",
)

IN_SMALL_BLOCKS = "SETTINGS (min_compress_block_size = 32768, max_compress_block_size = 65536)"
"""For strings: a page of results reads ten rows from ten places, and decompresses a block for
each."""

REPEATED = frozenset(("hostname", "group", "os_type", "host_type"))
"""Low-cardinality strings. Functions run once per dictionary entry, which makes grouping and
predicates several times faster. Unsuitable for claims, which nearly all differ because of their
ranks."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table definition. A column is a string `name type codec` for SQL."""

    name: str
    family: Family
    columns: tuple[str, ...]
    order_by: str
    partition_by: str = ""
    indexes: tuple[str, ...] = ()
    projections: tuple[str, ...] = ()
    settings: tuple[str, ...] = DURABLE
    version: str = ""
    """Column of a ReplacingMergeTree that is greatest in the newest row."""
    sharded: bool = True
    """False for tables that are fully replicated to every server."""

    @property
    def index_names(self) -> tuple[str, ...]:
        return tuple(index.split()[1].strip("`") for index in self.indexes)


def plain(column: Column) -> str:
    return f"`{column.name}` {SQL_TYPES[column.type]} {CODECS.get(column.type, TEXT_CODEC)}"


def merged(column: Column) -> str:
    kind = SQL_TYPES[column.type]
    if column.name in REPEATED:
        kind = f"LowCardinality({kind})"
    codec = CODECS.get(column.type, TEXT_CODEC)
    blocks = f" {IN_SMALL_BLOCKS}" if column.type == "text" else ""
    return f"`{column.name}` SimpleAggregateFunction({column.merge}, {kind}) {codec}{blocks}"


def claim(column: Column) -> str:
    """Returns the stored column of a group's member. The greatest value is that of the best
    claim."""
    kind = "String" if column.type == "text" else "UInt128"
    return (
        f"`{column.physical}` SimpleAggregateFunction(max, {kind}) {TEXT_CODEC} {IN_SMALL_BLOCKS}"
    )


def element(column: Column) -> str:
    """Returns the alias that extracts the value of a group's member. Queries use it like any
    column."""
    stored = column.shown(f"`{column.physical}`")
    return f"`{column.name}` {SQL_TYPES[column.type]} ALIAS {stored}"


def rank(group: str) -> str:
    """Returns the alias that extracts the rank of a group."""
    first = CLAIMS[group][0]
    return f"`{RANKS[group].name}` UInt64 ALIAS {first.rank(f'`{first.physical}`')}"


def gathered(column: Column) -> str:
    kind = SQL_TYPES[column.type]
    codec = CODECS.get(column.type, TEXT_CODEC)
    blocks = f" {IN_SMALL_BLOCKS}" if column.type == "text" else ""
    return (
        f"`{column.name}` SimpleAggregateFunction(groupArrayArray, Array({kind})) {codec}{blocks}"
    )


def summed(name: str) -> str:
    return f"`{name}` SimpleAggregateFunction(sum, UInt64) {TEXT_CODEC}"


def set_of(name: str, kind: str) -> str:
    return f"`{name}` SimpleAggregateFunction(groupUniqArrayArray, Array({kind})) CODEC(ZSTD(1))"


def indexed(column: str, kind: IndexKind) -> str:
    return f"INDEX `{index_name(column)}` {indexed_sql(column)} TYPE {INDEX_TYPES[kind]}"


def suffix_index(column: str) -> str:
    return (
        f"INDEX `{suffix_index_name(column)}` {suffix_tokens_sql(column)} TYPE {SUFFIX_INDEX_TYPE}"
    )
