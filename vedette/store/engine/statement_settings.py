"""Settings that statements run with, whatever the engine."""

from collections.abc import Mapping
from typing import Final

from vedette import limits
from vedette.limits import INSERT_INDEXED_ROWS_MIN
from vedette.model.suffix_columns import SUFFIX_COLUMNS, suffix_index_name
from vedette.store.engine.capabilities import Capabilities

_Settings = Mapping[str, str | int]

READ_SETTINGS: Final[_Settings] = {
    # A segment never spans partitions, so FINAL need not merge across them.
    "do_not_merge_across_partitions_select_final": 1,
    "max_query_size": 16 * 1024 * 1024,
    "max_memory_usage": limits.STORE_QUERY_BYTES_MAX,
}

ARROW_SETTINGS: Final[_Settings] = {
    "do_not_merge_across_partitions_select_final": 1,
    "output_format_arrow_string_as_string": 1,
    "output_format_arrow_low_cardinality_as_dictionary": 0,
}

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
    # A batch has one row per segment already.
    "optimize_on_insert": 0,
    # Omitted columns are empty either way; evaluating defaults serialises and parses the table
    # definition for each insert.
    "input_format_defaults_for_omitted_fields": 0,
    # Built once per closed partition (`store/partitions/index_build.py`).
    "exclude_materialize_skip_indexes_on_insert": ",".join(map(suffix_index_name, SUFFIX_COLUMNS)),
}


def insert_settings(capabilities: Capabilities, rows: int, token: str) -> dict[str, str | int]:
    """Of an insert of so many rows. Of inserts into a cluster with the same token one is stored."""
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
