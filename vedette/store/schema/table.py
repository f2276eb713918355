"""What a table is made of: columns as SQL, codecs, settings; the value that describes one."""

from dataclasses import dataclass
from typing import Literal

from vedette.model.columns import (
    Column,
    ColumnType,
)
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
"""Event times of a segment lie close together, and most senders have whole milliseconds."""

DURABLE = (
    "fsync_after_insert = 1",
    "fsync_part_directory = 1",
    # A merged part replaces parts that were synced: it must not be weaker than they.
    "min_rows_to_fsync_after_merge = 1",
    "old_parts_lifetime = 60",
)
LATE_SUFFIX_INDEXES = ",".join(
    suffix_index_name(column) for column in SUFFIX_COLUMNS if column not in MERGED_SUFFIX_COLUMNS
)
NO_LATE_INDEXES_ON_MERGE = f"exclude_materialize_skip_indexes_on_merge = '{LATE_SUFFIX_INDEXES}'"

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
    version: str = ""
    """Of a ReplacingMergeTree: the column that is greatest in the newest row."""
    sharded: bool = True
    """False for tables of which every server holds a full copy."""

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
