"""Writes that the disk refused the embedded engine, which ignores them.

chDB's file buffer drops what a `write` could not store (disk full, I/O error) and reports success:
an insert is answered, a merge replaces good parts, and their files are cut short. The engine only
counts such writes. So an insert counts as stored when that number has not changed since it began;
and when it has changed, all tables are loaded again from their files, without the parts that are
not whole. The parts that a merge replaced lie on the disk for another minute, and become active
again. A server of ClickHouse reports such writes; nothing here is used for it.
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
from vedette.limits import RELOAD_ATTACH_S, RELOAD_ATTEMPT_S, RELOAD_KILL_S, RELOAD_WAIT_S
from vedette.store.engine.client_pool import Pool
from vedette.store.engine.errors import CorruptPartError, domain_errors
from vedette.store.engine.part_files import discard_unfinished

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
    "MARK", "INDEX MARK", "PRIMARY INDEX", "UNCOMPRESSED", "INDEX UNCOMPRESSED", "MMAP",
    "QUERY CONDITION", "TEXT INDEX HEADER", "TEXT INDEX TOKENS", "TEXT INDEX POSTINGS",
)  # fmt: skip
"""Caches by the names of parts: the name of a part that was discarded is given again."""


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
        """`control` serves this object while `pools` are closed for a reload; `forget` drops what
        is cached of the tables. Nothing is done unless `is_watched`."""
        self._control = control
        self._pools = pools
        self._forget = forget
        self._is_watched = is_watched
        self._opened_s = time.time() - 1  # the engine cuts times of parts to whole seconds
        self._lock = threading.Lock()
        self._detached: dict[str, Path] = {}
        self._is_stuck = False
        self.kills = 0
        """How often all searches were ended for a reload."""
        self.seen = self._count()
        """Failed writes whose consequences are removed. Read it before a write, for `confirm`."""

    def confirm(self, seen: int) -> None:
        """Raises UnavailableError if a write has failed since `seen` was read: then what was
        written in between is not stored, and is gone when this has returned."""
        if self._count() != seen:
            self.reload()
            raise UnavailableError("the telemetry store cannot answer: the disk is full or refuses")

    def reread(self, read: Callable[[], T]) -> T:
        """The result of a read. Where it meets a corrupt part that a failed write has left, it is
        done once more, after that part is gone."""
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
        """Whether a write has failed of which the consequences are not removed yet."""
        return self._count() != self.seen

    def check(self) -> None:
        """Raises UnavailableError while tables are loaded again or could not be."""
        if self._is_stuck:
            raise UnavailableError("the telemetry store cannot load its tables after a full disk")

    def reload(self) -> None:
        """Loads all tables again if a write has failed since the last time. Waits for running
        calls, and ends searches that take longer. Raises UnavailableError where it has to be
        tried again; until then nobody is served."""
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
                    "removed incomplete parts of table %s, which nothing is lost by: %s",
                    name,
                    ", ".join(removed),
                )

    def _attach(self, name: str) -> None:
        """The engine refuses while somebody looks at the list of tables, for example."""
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
