"""Settings of statements, for every engine."""

from collections.abc import Mapping
from typing import Final

from vedette.limits import Limit
from vedette.model.suffix_columns import SUFFIX_COLUMNS, suffix_index_name
from vedette.store.engine.capabilities import Capabilities

STORE_QUERY_BYTES_MAX: Limit[int] = 1024 * 1024 * 1024
"""Memory of one query to the telemetry store: it must not take the memory of the write path."""

INSERT_INDEXED_ROWS_MIN: Limit[int] = 2_000
"""Rows from which an insert builds skip indexes: building costs 20 ms whatever the size, half of a
small insert, and the merge a few seconds later builds them anyway. Until then searches scan the
part (2 ms for 1,000 rows), with the same results."""


_Settings = Mapping[str, str | int]

READ_SETTINGS: Final[_Settings] = {
    # A segment never spans partitions, so FINAL need not merge across them.
    "do_not_merge_across_partitions_select_final": 1,
    "max_query_size": 16 * 1024 * 1024,
    "max_memory_usage": STORE_QUERY_BYTES_MAX,
}

ARROW_SETTINGS: Final[_Settings] = {
    "do_not_merge_across_partitions_select_final": 1,
    "output_format_arrow_string_as_string": 1,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
}

PAGE_SETTINGS: Final[_Settings] = {
    "exact_rows_before_limit": 1,
    "output_format_json_quote_64bit_integers": 0,
}
"""A page with the exact number of rows before its LIMIT (`Engine.query_page`)."""

PAGE_TRANSPORT: Final[_Settings] = {"wait_end_of_query": 1}
"""The server answers with the status of an error that happens in the middle of a result. The
embedded engine ignores it."""

READ_FORMATS: Final = {"DateTime*": "int"}

INSERT_SETTINGS: Final[_Settings] = {
    "async_insert": 0,
    "max_insert_block_size": 1_000_000_000,
    "min_insert_block_size_rows": 1_000_000_000,
    "min_insert_block_size_bytes": 1 << 40,
    "input_format_parallel_parsing": 0,
    "max_insert_threads": 1,
    # Replays and old logs may touch any number of partitions.
    "max_partitions_per_insert_block": 0,
    # A batch already has one row per segment.
    "optimize_on_insert": 0,
    # Omitted columns are empty either way; evaluating defaults serializes and parses the table
    # definition for each insert.
    "input_format_defaults_for_omitted_fields": 0,
    # Built once per closed partition (`store/partitions/index_build.py`).
    "exclude_materialize_skip_indexes_on_insert": ",".join(map(suffix_index_name, SUFFIX_COLUMNS)),
}


def insert_settings(capabilities: Capabilities, rows: int, token: str) -> dict[str, str | int]:
    """Returns the settings of an insert of `rows` rows. A cluster stores only one of several
    inserts with the same token."""
    indexed = int(rows >= INSERT_INDEXED_ROWS_MIN)
    settings = {
        **INSERT_SETTINGS,
        "materialize_skip_indexes_on_insert": indexed,
        **capabilities.insert_settings,
    }
    if capabilities.cluster:
        # Stored once however often it is sent (`statement_retry.py`; the driver repeats, too).
        settings["insert_deduplication_token"] = token
    return settings


def settings_clause(settings: _Settings) -> str:
    """Returns settings as the list behind SETTINGS."""
    return ", ".join(f"{name} = {_literal(value)}" for name, value in settings.items())


def _literal(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
