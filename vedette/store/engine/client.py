"""The telemetry engine: ClickHouse, embedded (chDB) or a cluster, behind one protocol.

- A chDB handle runs one call at a time, and a query on a handle with an open stream returns an
  empty result. Every call therefore borrows a client from a pool.
- chDB opens one data directory per process, and only one process may open a directory; a lock file
  gives a readable error (`store/engine/directory_lock.py`).
- Times are returned as epoch microseconds, since building datetimes costs more than the query;
  addresses as 16 bytes (`store/sql/column_lists.py`).
- Inserts are synchronous and sent as one block: one part in each partition they touch.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa

import vedette.store.engine.arrow_memory  # noqa: F401 - before the first array
from vedette import limits
from vedette.errors import UnavailableError
from vedette.limits import Limit
from vedette.store.engine import statement_retry
from vedette.store.engine.cancel import CancelToken, QueryKiller
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client_pool import Pool
from vedette.store.engine.errors import CorruptPartError, PartName, domain_errors, left_s
from vedette.store.engine.fenced_insert import FencedInserts
from vedette.store.engine.parameters import escaped
from vedette.store.engine.process_cache import ProcessCache, written_processes
from vedette.store.engine.query_pool import QueryPool
from vedette.store.engine.shard_routing import (
    ShardRouter,
    placed_command,
    placed_read,
    sharding_expression,
)
from vedette.store.engine.statement_settings import (
    ARROW_SETTINGS,
    PAGE_SETTINGS,
    PAGE_TRANSPORT,
    READ_FORMATS,
    READ_SETTINGS,
    insert_settings,
    settings_clause,
)
from vedette.store.engine.whole_stream import WholeStream
from vedette.store.engine.write_failures import FailedWrites

PROCESS_CACHE_BYTES_MAX: Limit[int] = 16 << 20
"""Cached results about processes, mostly the outlines of processes that users read: 200 kB for
5,000 segments. The least recently used are evicted."""

INSERT_ASIDE_THREADS: Limit[int] = 3
"""Threads that insert into the tables other than `segment`: one for each table."""


_LOG = logging.getLogger(__name__)

Params = Mapping[str, Any]
Settings = Mapping[str, str | int]
OpenClient = Callable[[str], Any]
"""Opens a client for the named database; "" for none."""

DATABASE = "vedette"


@dataclass(frozen=True, slots=True)
class Rows:
    """A result: column names and rows, in the order of the SELECT."""

    names: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def dicts(self) -> list[dict[str, Any]]:
        names = self.names
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Page:
    """The rows between OFFSET and LIMIT; `total` is the number of rows without both."""

    total: int
    rows: Sequence[Sequence[Any]]


class Engine(Protocol):
    """ClickHouse as the rest of the store uses it. Thread-safe.

    Every call raises UnavailableError when the engine cannot answer now: closed, out of disk,
    connection lost, deadline passed (`reason` "deadline"), cancelled (`reason` "cancelled").
    `deadline_s` counts from the call and includes the wait for a free client.
    """

    @property
    def root(self) -> "Engine":
        """The engine itself if this object wraps it for a request: the key of shared caches."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def database(self) -> str: ...

    @property
    def unreadable_parts(self) -> frozenset[PartName]:
        """Data parts that a read has found corrupt since the engine was opened."""
        ...

    @property
    def process_cache(self) -> ProcessCache:
        """Results about single processes, invalidated by writes to them."""
        ...

    @property
    def query_pool(self) -> QueryPool:
        """Threads for parallel queries of one request."""
        ...

    def query(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Rows:
        """Runs a SELECT without a SETTINGS clause; binds `params` to its `{name:Type}`
        placeholders."""
        ...

    def query_table(
        self,
        sql: str,
        schema: pa.Schema,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> pa.Table:
        """Like `query`, for many rows: returns a table with this schema."""
        ...

    def query_page(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Page:
        """Like `query`, for a SELECT with ORDER BY, LIMIT and OFFSET that returns numbers and
        texts. Also returns the exact number of rows without LIMIT and OFFSET, counted in the same
        pass, in memory that depends only on the page."""
        ...

    def stream(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> AbstractContextManager[Iterator[Sequence[tuple[Any, ...]]]]:
        """Like `query`, in blocks of rows, for results of any size. May yield blocks before it
        raises; ends without an error only after the last row."""
        ...

    def insert_arrow(
        self, table: str, data: pa.Table, until_us: int | None = None, *, token: str = ""
    ) -> None:
        """Inserts rows as one block; they are durable on return. After `until_us` (epoch us by the
        engine's clock) the engine refuses the insert with UnavailableError, no matter when it was
        sent. A cluster stores only one of several inserts with the same token."""
        ...

    def insert_tables(
        self, tables: Sequence[tuple[str, pa.Table]], until_us: int | None = None
    ) -> None:
        """Like `insert_arrow`, for several tables in parallel. If it raises, any of them may have
        been stored."""
        ...

    def command(self, sql: str, params: Params | None = None) -> None:
        """Runs a statement without a result: table definitions, partition commands."""
        ...

    def ping(self) -> None:
        """Raises UnavailableError if the engine does not answer. Uses no query client, so it does
        not wait for queries."""
        ...

    def recover_failed_writes(self) -> None:
        """Reloads the tables if the engine has lost a write (`write_failures.py`)."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Read:
    """Arguments of `Engine.query`."""

    sql: str
    params: Params | None
    settings: Settings | None
    deadline_s: float | None
    cancel: CancelToken | None


class ClickHouseEngine:
    """`Engine` for clickhouse-connect: a pool of readers, a few writers."""

    def __init__(
        self,
        open_client: OpenClient,
        database: str,
        capabilities: Capabilities,
        held: ExitStack | None = None,
    ) -> None:
        """`held` is released after the last client is closed: the lock on the data directory."""
        self.capabilities = capabilities
        self.database = database
        self.process_cache = ProcessCache(0 if capabilities.cluster else PROCESS_CACHE_BYTES_MAX)
        self.query_pool = QueryPool()
        self._router: ShardRouter | None = None
        self.open_client = open_client
        self._readers = Pool(partial(open_client, database), limits.STORE_READERS)
        self._writer = Pool(partial(open_client, database), limits.STORE_WRITERS)
        self._control = Pool(partial(open_client, database), limits.STORE_CONTROL_CLIENTS)
        self._killer = QueryKiller(self._run_control)
        self._held = held or ExitStack()
        self._fenced_inserts = FencedInserts()
        self.unreadable_parts: frozenset[PartName] = frozenset()
        self._failed_writes = FailedWrites(
            self._control,
            (self._writer, self._readers),
            self._forget,
            is_watched=not capabilities.cluster,
        )

    @property
    def root(self) -> Engine:
        return self

    def query(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Rows:
        asked = _Read(sql, params, settings, deadline_s, cancel)

        def read() -> Rows:
            with self._reading(asked) as (client, text, options):
                result = client.query(text, **options)
                return Rows(tuple(result.column_names), result.result_rows)

        return self._failed_writes.reread(partial(statement_retry.read_once_replaced, read))

    def query_table(
        self,
        sql: str,
        schema: pa.Schema,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> pa.Table:
        asked = _Read(sql, params, settings, deadline_s, cancel)

        def read() -> pa.Table:
            with self._reading(asked) as (client, text, options):
                # Not `query_arrow`: with it, the driver sends a statement for each setting.
                result = client.query(text, **options, column_oriented=True)
                columns = result.result_columns or [()] * len(schema)
                return pa.table(list(map(pa.array, columns, schema.types)), schema)

        return self._failed_writes.reread(partial(statement_retry.read_once_replaced, read))

    def query_page(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Page:
        asked = _Read(sql, params, settings, deadline_s, cancel)

        def read() -> Page:
            with self._reading(asked) as (client, text, options):
                # As a clause: the driver of the embedded engine runs two statements for each
                # setting that it gets beside a raw query.
                clause = settings_clause({**options["settings"], **PAGE_SETTINGS})
                body = client.raw_query(
                    f"{text} SETTINGS {clause}",
                    options["parameters"],
                    settings=PAGE_TRANSPORT,
                    fmt="JSONCompact",
                )
                return _page(body)

        return self._failed_writes.reread(partial(statement_retry.read_once_replaced, read))

    def read_arrow(self, sql: str, settings: Settings | None = None) -> pa.Table:
        """Returns a result in the engine's Arrow format, for copying rows."""
        with domain_errors(), self._readers.borrow() as client:
            return client.query_arrow(sql, settings={**ARROW_SETTINGS, **(settings or {})})

    @contextmanager
    def stream(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Iterator[Iterator[Sequence[tuple[Any, ...]]]]:
        asked = _Read(sql, params, settings, deadline_s, cancel)
        whole = WholeStream(self._failed_writes, deadline_s, cancel)
        with statement_retry.begun_once_replaced(lambda: self._streaming(asked)) as blocks:
            yield whole.checked(blocks)

    @contextmanager
    def _streaming(self, asked: _Read) -> Iterator[Any]:
        with (
            self._reading(asked) as (client, text, options),
            client.query_row_block_stream(text, **options) as blocks,
        ):
            yield blocks

    @contextmanager
    def _reading(self, asked: _Read) -> Iterator[tuple[Any, str, dict[str, Any]]]:
        """Yields a client for one read, with the statement and options to run. The wait for a
        client counts toward the deadline."""
        deadline_s, cancel = asked.deadline_s, asked.cancel
        until_s = None if deadline_s is None else time.monotonic() + deadline_s
        with (
            self._noting_corrupt_parts(),
            domain_errors(),
            self._readers.borrow(deadline_s) as client,
            placed_read(self._router, self, asked.sql, asked.settings or {}) as (text, placed),
        ):
            merged: dict[str, Any] = {**READ_SETTINGS, **self.capabilities.read_settings, **placed}
            if until_s is not None:
                # Rounded up: the engine must not end a read before `until_s` (`whole_stream.py`).
                merged["max_execution_time"] = f"{left_s(until_s) + 0.001:.3f}"
            options = {
                "parameters": escaped(asked.params),
                "settings": merged,
                "query_formats": READ_FORMATS,
            }
            if cancel is None:
                yield client, text, options
                return
            with cancel.registered(self._killer.kill) as comment:
                merged["log_comment"] = comment
                try:
                    yield client, text, options
                finally:
                    self._killer.finished(comment)

    @contextmanager
    def _noting_corrupt_parts(self) -> Iterator[None]:
        try:
            yield
        except CorruptPartError as error:
            part = error.part
            if part and part not in self.unreadable_parts and not self._failed_writes.is_behind:
                self.unreadable_parts |= {part}
                _LOG.error("%s; restore it from a backup", error)
            raise

    def ping(self) -> None:
        self._failed_writes.check()
        self._run_control("SELECT 1")

    def recover_failed_writes(self) -> None:
        self._failed_writes.reload()

    def _forget(self) -> None:
        self.unreadable_parts = frozenset()
        with self.process_cache.writing():
            pass

    def _run_control(self, sql: str) -> None:
        with domain_errors(), self._control.borrow() as client:
            client.command(sql)

    def insert_arrow(
        self, table: str, data: pa.Table, until_us: int | None = None, *, token: str = ""
    ) -> None:
        seen = self._failed_writes.seen
        self._insert_rows(table, data, until_us, token)
        self._failed_writes.confirm(seen)

    def insert_tables(
        self, tables: Sequence[tuple[str, pa.Table]], until_us: int | None = None
    ) -> None:
        """Inserts in parallel, because a small insert mostly waits for the disk. Checks for failed
        writes once for all tables: a check costs as much as a small insert."""
        seen = self._failed_writes.seen
        with ThreadPoolExecutor(max_workers=INSERT_ASIDE_THREADS) as workers:
            inserts = [
                workers.submit(self._insert_rows, table, data, until_us) for table, data in tables
            ]
        for insert in inserts:
            insert.result()
        self._failed_writes.confirm(seen)

    def _insert_rows(
        self, table: str, data: pa.Table, until_us: int | None, token: str = ""
    ) -> None:
        with self.process_cache.writing(written_processes(data)):
            token = token or uuid4().hex
            if self._router is None or table not in self._router.tables:
                self._insert(
                    table, data, insert_settings(self.capabilities, data.num_rows, token), until_us
                )
                return
            with self._router.using():
                for shard, rows in self._router.split(data):
                    self._insert(table, rows, self._on_shard(rows, shard, token), until_us)

    def _on_shard(self, data: pa.Table, shard: int, token: str) -> dict[str, str | int]:
        settings = insert_settings(self.capabilities, data.num_rows, f"{token}-{shard}")
        return {**settings, "insert_shard_id": shard}

    def _insert(
        self, table: str, data: pa.Table, settings: Settings, until_us: int | None = None
    ) -> None:
        def insert() -> None:
            with domain_errors(), self._writer.borrow() as client:
                if until_us is None:
                    client.insert_arrow(table, data, settings=settings)
                else:
                    self._fenced_inserts.run(client, table, data, settings, until_us)

        if self.capabilities.cluster:
            statement_retry.insert_until_known(insert)
        else:
            insert()

    def insert_on_shard(self, table: str, data: pa.Table, shard: int, token: str) -> None:
        """Like `insert_arrow`, into the shard with this number regardless of the rows' sensors."""
        self._insert(table, data, self._on_shard(data, shard, token))

    def route_by(self, router: ShardRouter) -> None:
        """Routes rows of the router's tables to the shards that own their sensors from now on. New
        tables route by the same map."""
        self._router = router
        self.capabilities = replace(
            self.capabilities, sharding_key=sharding_expression(router.known)
        )

    def command(self, sql: str, params: Params | None = None) -> None:
        seen = self._failed_writes.seen
        # Rows inserted from a SELECT are as durable as rows sent by the client.
        settings = self.capabilities.insert_settings if sql.startswith("INSERT") else {}
        with (
            domain_errors(),
            self._readers.borrow() as client,
            self.process_cache.writing(),
            placed_command(self._router, sql, params) as placed,
        ):
            client.command(sql, parameters=escaped(placed), settings=dict(settings))
        self._failed_writes.confirm(seen)

    def sibling(self, database: str, capabilities: Capabilities) -> "ClickHouseEngine":
        """Returns an engine on another database of the same ClickHouse. Close it before this
        one."""
        self.command(_creation(database, capabilities))
        return ClickHouseEngine(self.open_client, database, capabilities)

    def close(self) -> None:
        """Waits for running calls, then releases the engine and its data directory."""
        self._writer.close()
        self._readers.close()
        self._control.close()
        self.query_pool.close()
        self._held.close()


def _page(body: bytes) -> Page:
    """Decodes a result in the format JSONCompact. Raises UnavailableError for an incomplete one."""
    try:
        found = json.loads(body)
        rows, total = found["data"], found.get("rows_before_limit_at_least", found["rows"])
    except (ValueError, KeyError) as error:
        raise UnavailableError("the store returned an incomplete result") from error
    return Page(int(total), rows)


def create_database(client: Any, name: str, capabilities: Capabilities) -> None:
    """Creates a database if it is missing. `client` must have no database."""
    with domain_errors():
        # A statement for all servers of a cluster fails while one is away.
        if not int(client.command(f"EXISTS DATABASE `{name}`")):
            client.command(_creation(name, capabilities))


def _creation(database: str, capabilities: Capabilities) -> str:
    return f"CREATE DATABASE IF NOT EXISTS `{database}`{capabilities.on_cluster}"
