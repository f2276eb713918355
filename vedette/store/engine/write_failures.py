"""Detects writes of the embedded engine that the disk refused, which the engine ignores.

chDB's file buffer drops data that a `write` could not store (disk full, I/O error) and reports
success: the insert is acknowledged, a merge replaces good parts, and their files are truncated. The
engine only counts such writes. So an insert counts as stored only if that number has not changed
since it began. If it has changed, all tables are reloaded from their files, without the incomplete
parts. Parts replaced by a merge stay on disk for another minute, and become active again. A
ClickHouse server reports failed writes; this module does nothing for it.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, TypeVar

from clickhouse_connect.driver.exceptions import DatabaseError

from vedette.errors import UnavailableError, VedetteError
from vedette.limits import Limit
from vedette.store.engine.client_pool import Pool
from vedette.store.engine.errors import CorruptPartError, domain_errors
from vedette.store.engine.part_files import discard_unfinished

RELOAD_WAIT_S: Limit[int] = 2
"""Time that a reload of the tables after a failed write waits for searches before it kills them."""

RELOAD_KILL_S: Limit[int] = 10
"""Time that it then waits for their end before the reload is retried: a stream ends once its client
reads on."""

RELOAD_ATTACH_S: Limit[int] = 10
"""Time for which it retries loading a table that is still in use."""

RELOAD_ATTEMPT_S: Limit[float] = 0.05
"""Interval between two attempts."""


T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_COUNT: Final = (
    "SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'"
)
_TABLES: Final = (
    "SELECT name, data_paths[1] FROM system.tables "
    "WHERE database = currentDatabase() AND engine LIKE '%MergeTree'"
)
_KILL: Final = "KILL QUERY WHERE query_kind = 'Select' ASYNC"

CACHES: Final = (
    "MARK",
    "INDEX MARK",
    "PRIMARY INDEX",
    "UNCOMPRESSED",
    "INDEX UNCOMPRESSED",
    "MMAP",
    "QUERY CONDITION",
    "TEXT INDEX HEADER",
    "TEXT INDEX TOKENS",
    "TEXT INDEX POSTINGS",
)
"""Caches keyed by part name: the name of a discarded part is used again."""


class FailedWrites:
    """Watches the number of failed writes of the engine in this process. Thread-safe."""

    def __init__(
        self,
        control: Pool,
        pools: tuple[Pool, ...],
        forget: Callable[[], None],
        *,
        is_watched: bool,
    ) -> None:
        """`control` serves this object while `pools` are closed for a reload; `forget` drops cached
        data of the tables. Does nothing unless `is_watched`."""
        self._control = control
        self._pools = pools
        self._forget = forget
        self._is_watched = is_watched
        self._opened_s = time.time() - 1  # the engine truncates times of parts to whole seconds
        self._lock = threading.Lock()
        self._detached: dict[str, Path] = {}
        self._is_stuck = False
        self.kills = 0
        """Number of times that all searches were killed for a reload."""
        self.seen = self._count()
        """Number of failed writes whose damage is repaired. Read it before a write, for
        `confirm`."""

    def confirm(self, seen: int) -> None:
        """Raises UnavailableError if a write has failed since `seen` was read: then the writes in
        between are not stored, and their leftovers are removed."""
        if self._count() != seen:
            self.reload()
            raise UnavailableError(
                "the telemetry store is unavailable: the disk is full or failing"
            )

    def reread(self, read: Callable[[], T]) -> T:
        """Returns the result of a read. If it finds a corrupt part left by a failed write, removes
        the part and repeats the read once."""
        seen = self.seen
        try:
            return read()
        except CorruptPartError:
            self.reload()
            if self.seen == seen:
                raise
            return read()

    @property
    def is_behind(self) -> bool:
        """Whether the damage of a failed write is not repaired yet."""
        return self._count() != self.seen

    def check(self) -> None:
        """Raises UnavailableError while tables are reloading or could not be reloaded."""
        if self._is_stuck:
            raise UnavailableError("the telemetry store cannot load its tables after a full disk")

    def reload(self) -> None:
        """Reloads all tables if a write has failed since the last reload. Waits for running calls,
        and kills searches that take longer. Raises UnavailableError if the reload must be retried;
        until then no call is served."""
        with self._lock:
            count = self._count()
            if count == self.seen and not self._is_stuck:
                return
            _LOG.warning("the disk refused writes of telemetry: loading all tables again")
            for pool in self._pools:
                pool.pause()
            self._is_stuck = True
            self._drained(self._reload)
            self.seen, self._is_stuck = count, False
            self._forget()
            for pool in self._pools:
                pool.resume()

    def _drained(self, run: Callable[[], None]) -> None:
        with ExitStack() as held:
            try:
                for pool in self._pools:
                    held.enter_context(pool.emptied(RELOAD_WAIT_S))
            except UnavailableError:
                self.kills += 1
                self._command(_KILL)
                held.close()
                for pool in self._pools:
                    held.enter_context(pool.emptied(RELOAD_KILL_S))
            run()

    def _reload(self) -> None:
        for name, path in self._query(_TABLES):
            self._detached[name] = Path(path)
            self._command(f"DETACH TABLE `{name}`")
        for cache in CACHES:
            self._command(f"SYSTEM DROP {cache} CACHE")
        for name, path in list(self._detached.items()):
            removed = discard_unfinished(path, self._opened_s)
            self._attach(name)
            del self._detached[name]
            if removed:
                _LOG.warning(
                    "removed incomplete parts of table %s (no data lost): %s",
                    name,
                    ", ".join(removed),
                )

    def _attach(self, name: str) -> None:
        """Attaches a table, with retries: the engine refuses, for example, while a query reads the
        list of tables."""
        until_s = time.monotonic() + RELOAD_ATTACH_S
        while True:
            try:
                self._command(f"ATTACH TABLE `{name}`")
            except (DatabaseError, VedetteError) as error:
                if time.monotonic() > until_s:
                    raise UnavailableError(f"table {name} cannot be loaded: {error}") from error
                time.sleep(RELOAD_ATTEMPT_S)
            else:
                return

    def _count(self) -> int:
        return int(self._query(_COUNT)[0][0]) if self._is_watched else 0

    def _query(self, sql: str) -> list[tuple[Any, ...]]:
        with domain_errors(), self._control.borrow() as client:
            return list(client.query(sql).result_rows)

    def _command(self, sql: str) -> None:
        with domain_errors(), self._control.borrow() as client:
            client.command(sql)
