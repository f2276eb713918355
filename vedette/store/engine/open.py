"""Opens an engine: the embedded one on a directory, or a cluster by its DSN."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError

from vedette import limits
from vedette.errors import StartError, VedetteError
from vedette.store.engine.capabilities import EMBEDDED, Capabilities
from vedette.store.engine.client import DATABASE, ClickHouseEngine, create_database
from vedette.store.engine.directory_links import check_directory
from vedette.store.engine.directory_lock import directory_lock

_MB = 1024 * 1024

ENGINE_CONFIG = f"""\
<clickhouse>
    <background_pool_size>2</background_pool_size>
    <mark_cache_size>{128 * _MB}</mark_cache_size>
    <index_mark_cache_size>{64 * _MB}</index_mark_cache_size>
    <primary_index_cache_size>{128 * _MB}</primary_index_cache_size>
    <uncompressed_cache_size>{64 * _MB}</uncompressed_cache_size>
    <text_index_header_cache_size>{64 * _MB}</text_index_header_cache_size>
    <text_index_tokens_cache_size>{64 * _MB}</text_index_tokens_cache_size>
    <text_index_postings_cache_size>{64 * _MB}</text_index_postings_cache_size>
    <query_condition_cache_size>{16 * _MB}</query_condition_cache_size>
    <merge_tree>
        <merge_selector_base>{{parts_merged}}</merge_selector_base>
        <max_suspicious_broken_parts>{limits.BROKEN_PARTS_MAX}</max_suspicious_broken_parts>
        <max_suspicious_broken_parts_bytes>{limits.BROKEN_PARTS_BYTES_MAX}</max_suspicious_broken_parts_bytes>
    </merge_tree>
    {{extra}}
</clickhouse>
"""
"""The engine's defaults assume a dedicated server: 5 GB per cache, and merges of five parts."""

PARTS_MERGED = 8
"""Parts of similar size per merge: 25% fewer merges of each row than with the engine's default of
five, and still few parts per search."""


def open_engine(
    directory: Path,
    *,
    database: str = DATABASE,
    capabilities: Capabilities = EMBEDDED,
    parts_merged: int = PARTS_MERGED,
    extra_config: str = "",
) -> ClickHouseEngine:
    """Open or create the embedded engine in `directory`.

    `extra_config` is further ClickHouse configuration (XML), such as `remote_servers`.
    Raises StartError when another process holds the directory or the engine cannot start.
    """
    held = ExitStack()
    held.enter_context(directory_lock(directory))
    try:
        check_directory(directory / "clickhouse")
        config = directory / "engine.xml"
        config.write_text(ENGINE_CONFIG.format(parts_merged=parts_merged, extra=extra_config))
        path = f"{directory.resolve() / 'clickhouse'}?config-file={config.resolve()}"
        open_client = partial(_client, {"interface": "chdb", "path": path})
        create_database(open_client, database, capabilities)
    except StartError:
        held.close()
        raise
    except (ClickHouseError, VedetteError, OSError) as error:
        held.close()
        raise StartError(f"the telemetry store in {directory} cannot start: {error}") from error
    return ClickHouseEngine(open_client, database, capabilities, held)


def connect_engine(
    dsn: str, capabilities: Capabilities, *, database: str = DATABASE
) -> ClickHouseEngine:
    """Connect to a ClickHouse server by its DSN, e.g. `clickhouses://user:word@host:8443/`.

    Raises StartError when it cannot be reached.
    """
    # Without a session, clients are interchangeable between calls.
    open_client = partial(_client, {"dsn": dsn, "autogenerate_session_id": False})
    try:
        create_database(open_client, database, capabilities)
    except (ClickHouseError, VedetteError) as error:
        raise StartError(f"the telemetry store cannot be reached: {error}") from error
    return ClickHouseEngine(open_client, database, capabilities)


def _client(target: dict[str, Any], database: str) -> Any:
    return clickhouse_connect.get_client(**target, database=database or "default")
