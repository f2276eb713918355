"""Opens an engine: the embedded one on a directory, or a cluster by its DSN."""

import logging
import re
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError
from clickhouse_connect.driver.httputil import get_pool_manager

from vedette import limits
from vedette.errors import StartError, VedetteError
from vedette.file_tree import matching
from vedette.limits import STORE_PARTS_MERGED, Limit
from vedette.store.engine.capabilities import EMBEDDED, Capabilities
from vedette.store.engine.client import DATABASE, ClickHouseEngine, create_database
from vedette.store.engine.directory_links import check_directory
from vedette.store.engine.directory_lock import directory_lock
from vedette.store.engine.part_files import discard_unfinished

CLUSTER_CONNECT_S: Limit[int] = 5
"""Timeout for connecting to a ClickHouse server: on a working network it takes milliseconds."""

CLUSTER_ANSWER_S: Limit[int] = 120
"""Time without data from a ClickHouse server after which a call fails: longer than the longest
search, and than an insert waits for its quorum."""

BROKEN_PARTS_MAX: Limit[int] = 1_000_000
"""Number of broken parts with which the embedded engine still starts, so that it can report them
part by part."""

BROKEN_PARTS_BYTES_MAX: Limit[int] = 1 << 60
"""Total size of broken parts with which the embedded engine still starts."""

MERGE_LOOK_S: Limit[int] = 5
"""Seconds between two checks of a table for parts to merge. An insert triggers a check at once; by
default an idle engine checks each of its tables twice a second."""

MERGE_LOOK_MAX_S: Limit[int] = 60
"""Maximum seconds between two checks, after checks that found nothing."""


_LOG = logging.getLogger(__name__)

_MB = 1024 * 1024

_SCHEMES: Final = frozenset({"clickhouse", "clickhouses", "http", "https"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")

STORE_CONNECTIONS: Final = (
    limits.STORE_READERS + limits.STORE_WRITERS + limits.STORE_CONTROL_CLIENTS
)

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
    <memory_worker_period_ms>500</memory_worker_period_ms>
    <background_processing_pool_thread_sleep_seconds_if_nothing_to_do>{MERGE_LOOK_S}</background_processing_pool_thread_sleep_seconds_if_nothing_to_do>
    <background_streaming_processing_pool_thread_sleep_seconds_if_nothing_to_do>{MERGE_LOOK_MAX_S}</background_streaming_processing_pool_thread_sleep_seconds_if_nothing_to_do>
    <background_processing_pool_task_sleep_seconds_when_no_work_max>{MERGE_LOOK_MAX_S}</background_processing_pool_task_sleep_seconds_when_no_work_max>
    <merge_tree>
        <merge_tree_clear_old_parts_interval_seconds>30</merge_tree_clear_old_parts_interval_seconds>
        <merge_selector_base>{{parts_merged}}</merge_selector_base>
        <max_suspicious_broken_parts>{BROKEN_PARTS_MAX}</max_suspicious_broken_parts>
        <max_suspicious_broken_parts_bytes>{BROKEN_PARTS_BYTES_MAX}</max_suspicious_broken_parts_bytes>
    </merge_tree>
    {{extra}}
</clickhouse>
"""
"""The engine's defaults assume a dedicated server: 5 GB per cache, and merges of five parts."""


def open_engine(
    directory: Path,
    *,
    database: str = DATABASE,
    capabilities: Capabilities = EMBEDDED,
    parts_merged: int = STORE_PARTS_MERGED,
    extra_config: str = "",
) -> ClickHouseEngine:
    """Opens or creates the embedded engine in `directory`.

    `extra_config` is further ClickHouse configuration (XML), such as `remote_servers`. Raises
    StartError if another process has the directory or the engine cannot start.
    """
    held = ExitStack()
    held.enter_context(directory_lock(directory))
    try:
        check_directory(directory / "clickhouse")
        config = directory / "engine.xml"
        config.write_text(ENGINE_CONFIG.format(parts_merged=parts_merged, extra=extra_config))
        path = f"{directory.resolve() / 'clickhouse'}?config-file={config.resolve()}"
        open_client = partial(_client, {"interface": "chdb", "path": path})
        for table in matching(directory / "clickhouse" / "store", "*/*"):
            for part in discard_unfinished(table) if table.is_dir() else ():
                _LOG.warning("removed incomplete part %s; its source parts exist", part)
        # The engine ends with its last client: this one stays open until the first pooled client is
        # open.
        with closing(open_client("")) as first:
            create_database(first, database, capabilities)
            return ClickHouseEngine(open_client, database, capabilities, held)
    except StartError:
        held.close()
        raise
    except (ClickHouseError, VedetteError, OSError) as error:
        held.close()
        raise StartError(f"the telemetry store in {directory} cannot start: {error}") from error


def connect_engine(
    dsn: str, capabilities: Capabilities, *, database: str = "", creates: bool = True
) -> ClickHouseEngine:
    """Connects to a ClickHouse server by its DSN, e.g. `clickhouses://user:word@host:8443/vedette`.

    The database is `database`, else that of the DSN, else `DATABASE`. It is created if it is
    missing, unless `creates` is off. Raises StartError for an invalid DSN and for an unreachable
    server; no message contains the DSN.
    """
    found, name = _parts(dsn), database or database_of(dsn)
    connections = get_pool_manager(maxsize=STORE_CONNECTIONS)
    target = {
        "dsn": dsn,
        # Without a session, clients are interchangeable between calls.
        "autogenerate_session_id": False,
        "connect_timeout": CLUSTER_CONNECT_S,
        "send_receive_timeout": CLUSTER_ANSWER_S,
    }
    if found.scheme == "clickhouse" and not found.query:
        # A separate connection pool: the driver's keeps only eight connections, and opens another
        # for each further call.
        target["pool_mgr"] = connections
    open_client = partial(_client, target)
    try:
        with closing(open_client("")) as client:
            if creates:
                create_database(client, name, capabilities)
    except (ClickHouseError, VedetteError) as error:
        raise StartError(f"the telemetry store cannot be reached: {error}") from error
    return ClickHouseEngine(open_client, name, capabilities)


def database_of(dsn: str) -> str:
    """Returns the database that a DSN names, else `DATABASE`. Raises StartError."""
    name = _parts(dsn).path.strip("/") or DATABASE
    if not _NAME.fullmatch(name):
        raise StartError("clickhouse_dsn: the database is a name of letters, digits and _")
    return name


def _parts(dsn: str) -> SplitResult:
    """Parses a DSN. Raises StartError without its text, which contains a password."""
    try:
        found = urlsplit(dsn)
        _ = found.port
    except ValueError:
        found = SplitResult("", "", "", "", "")
    if found.scheme not in _SCHEMES or not found.hostname:
        raise StartError(
            "clickhouse_dsn: cannot be read; write clickhouses://user:password@host:8443/database"
        )
    return found


def _client(target: dict[str, Any], database: str) -> Any:
    return clickhouse_connect.get_client(**target, database=database or "default")
