"""The telemetry engine for one request: with a deadline, a cancel token, and a share of the
readers.

Every read of a request goes through this module, whatever code issues it. So no query outlives its
request, and searches never occupy all readers of the engine: the rest stays free for ingest,
sensors and health checks.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import Engine, Page, Params, Rows, Settings
from vedette.store.engine.errors import PartName, deadline_error
from vedette.store.engine.process_cache import ProcessCache
from vedette.store.engine.query_pool import QueryPool


class BoundedEngine:
    """`Engine` for one request. Safe to share between its threads.

    Reads raise UnavailableError: `reason` "deadline" after `until_s` (time.monotonic), "cancelled"
    once the token is cancelled.
    """

    def __init__(
        self,
        engine: Engine,
        readers: threading.BoundedSemaphore,
        until_s: float,
        cancel: CancelToken,
        threads_max: int = 0,
        nice: int = 0,
    ) -> None:
        """`readers` limits the concurrent reads of all requests of one pool.

        `threads_max` is the number of engine threads for one read; 0 leaves the choice to the
        engine. `nice` lowers their CPU priority like nice(1), where the process has CAP_SYS_NICE; 0
        leaves the priority unchanged."""
        self._engine = engine
        self._readers = readers
        self._until_s = until_s
        self.cancel = cancel
        wanted = {"max_threads": threads_max, "os_thread_priority": nice}
        self._settings: Settings = {name: value for name, value in wanted.items() if value}

    @property
    def root(self) -> Engine:
        return self._engine.root

    @property
    def capabilities(self) -> Capabilities:
        return self._engine.capabilities

    @property
    def database(self) -> str:
        return self._engine.database

    @property
    def unreadable_parts(self) -> frozenset[PartName]:
        return self._engine.unreadable_parts

    @property
    def process_cache(self) -> ProcessCache:
        return self._engine.process_cache

    @property
    def query_pool(self) -> QueryPool:
        return self._engine.query_pool

    def ping(self) -> None:
        self._engine.ping()

    def recover_failed_writes(self) -> None:
        self._engine.recover_failed_writes()

    def query(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Rows:
        with self._reading(deadline_s) as left_s:
            return self._engine.query(
                sql,
                params,
                settings={**self._settings, **(settings or {})},
                deadline_s=left_s,
                cancel=cancel or self.cancel,
            )

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
        with self._reading(deadline_s) as left_s:
            return self._engine.query_table(
                sql,
                schema,
                params,
                settings={**self._settings, **(settings or {})},
                deadline_s=left_s,
                cancel=cancel or self.cancel,
            )

    def query_page(
        self,
        sql: str,
        params: Params | None = None,
        *,
        settings: Settings | None = None,
        deadline_s: float | None = None,
        cancel: CancelToken | None = None,
    ) -> Page:
        with self._reading(deadline_s) as left_s:
            return self._engine.query_page(
                sql,
                params,
                settings={**self._settings, **(settings or {})},
                deadline_s=left_s,
                cancel=cancel or self.cancel,
            )

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
        with (
            self._reading(deadline_s) as left_s,
            self._engine.stream(
                sql,
                params,
                settings={**self._settings, **(settings or {})},
                deadline_s=left_s,
                cancel=cancel or self.cancel,
            ) as blocks,
        ):
            yield blocks

    def insert_arrow(
        self, table: str, data: pa.Table, until_us: int | None = None, *, token: str = ""
    ) -> None:
        """Not bounded: search requests do not write."""
        self._engine.insert_arrow(table, data, until_us, token=token)

    def insert_tables(
        self, tables: Sequence[tuple[str, pa.Table]], until_us: int | None = None
    ) -> None:
        """Not bounded, like `insert_arrow`."""
        self._engine.insert_tables(tables, until_us)

    def command(self, sql: str, params: Params | None = None) -> None:
        """Not bounded: search requests do not change tables."""
        self._engine.command(sql, params)

    def close(self) -> None:
        """Does nothing: the server owns the engine."""

    @contextmanager
    def _reading(self, deadline_s: float | None) -> Iterator[float]:
        """Acquires a reader and yields the seconds left for the read."""
        until_s = self._until_s
        if deadline_s is not None:
            until_s = min(until_s, time.monotonic() + deadline_s)
        self.cancel.raise_if_cancelled()
        if not self._readers.acquire(timeout=max(0.0, until_s - time.monotonic())):
            raise deadline_error()
        try:
            self.cancel.raise_if_cancelled()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise deadline_error()
            yield left_s
        finally:
            self._readers.release()
