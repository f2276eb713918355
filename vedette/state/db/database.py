"""SQLite and PostgreSQL behind one `Database`; no other module distinguishes them.

Surprises:

- SQLite: Python's own transaction handling begins transactions late, and a reader that becomes a
  writer fails at once. So transactions begin here, with `BEGIN IMMEDIATE` for writers, and
  writers wait for each other up to `SQLITE_BUSY_MS`.
- SQLite in WAL mode fsyncs at commit only with `synchronous=FULL`. Stored telemetry refers to
  sensor ids and channel codes, so they must be as durable as the telemetry.
- `exclusive` protects work on the telemetry store that reads, changes and writes back: servers of
  a cluster share no process, but they share PostgreSQL. With SQLite there is a single server.
- Driver exceptions are translated: `UnavailableError` (503, the client retries) for a database that
  does not answer, `ConflictError` for a violated constraint, `BadRequestError` for a value that the
  database cannot represent (a zero byte, a number of 100 digits).
"""

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias
from zlib import crc32

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from vedette.errors import BadRequestError, ConflictError, StartError, UnavailableError
from vedette.limits import Limit
from vedette.state.db import audit_log, statement_budget
from vedette.state.db.statement_budget import LargestWork

SQLITE_BUSY_MS: Limit[int] = 10_000
"""Time (ms) for which an SQLite writer waits for another; commits take milliseconds."""

SQLITE_LOCKED_S: Limit[float] = 0.005
"""Interval (s) of retries on a new file while another connection sets its journal mode."""

POSTGRES_CONNECT_S: Limit[int] = 10
"""Timeout (s) for connecting to PostgreSQL."""

POSTGRES_SILENT_S: Limit[int] = 5
"""Time (s) without acknowledged packets after which a connection to PostgreSQL is closed. Shorter
than the lease of a server."""

POSTGRES_KEEPALIVE_S: Limit[int] = 2
"""Interval (s) of keepalive packets on a silent connection."""

POSTGRES_KEEPALIVES: Limit[int] = 3
"""Unanswered keepalive packets after which a connection counts as lost."""

STATE_CONNECTIONS_MAX: Limit[int] = 10
"""Connections of one server to the state database. Further requests wait for a free connection."""


_UNAVAILABLE = (OperationalError, InterfaceError, InternalError, DatabaseError)
"""Errors for a full disk, a lock, a shutdown, a recovery or a file that is not a database. Exact
types, no subclasses: an incorrect statement (ProgrammingError) is a bug."""

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_INSERTS: dict[str, Callable[[Table], Any]] = {
    "sqlite": sqlite.insert,
    "postgresql": postgresql.insert,
}


Transaction: TypeAlias = Connection
"""A transaction, for layers above the state that only pass it on."""


_ADVISORY_LOCKS = {"postgresql": "SELECT pg_advisory_xact_lock(%s)"}
"""Locks that last until the transaction ends."""
_LOCK_WAITS = "SELECT set_config('lock_timeout', %s, true)"


_TIMES = {
    "postgresql": "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
    "sqlite": "SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
}
_ENDS_CONNECTIONS = {
    "postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name = %s AND usename = current_user AND pid <> pg_backend_pid()"
}


@dataclass(frozen=True, slots=True)
class Database:
    """An open database. Safe to share between threads; close it once."""

    engine: Engine
    name: str = ""
    """Name of its connections on the database server; "" for SQLite."""
    locks: dict[str, Lock] = field(default_factory=dict, repr=False, compare=False)
    largest: LargestWork = field(default_factory=LargestWork, repr=False, compare=False)
    """Largest number of rows in one writing transaction since the database was opened."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Opens a read-only transaction over one snapshot."""
        with _translated(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Opens a transaction that is durable when the block ends and rolled back if the block
        raises."""
        with _translated(), self.engine.execution_options(is_writing=True).begin() as connection:
            audit_log.begin(connection)
            with statement_budget.measured(connection, self.largest):
                yield connection
                audit_log.write_pending(connection)

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Like `writing`, without foreign keys on SQLite: a migration may recreate a table, and
        dropping the old table would delete the rows that refer to it. Call `check_references` after
        the migration."""
        with _translated(), self.engine.execution_options(is_writing=True).connect() as connection:
            _enforce_foreign_keys(connection, "OFF")
            try:
                with connection.begin():
                    audit_log.begin(connection)
                    yield connection
                    audit_log.write_pending(connection)
            finally:
                _enforce_foreign_keys(connection, "ON")

    @contextmanager
    def at_once(self) -> Iterator[Connection]:
        """Opens an autocommit connection for PostgreSQL: each statement is its own transaction and
        leaves no lock. The audit log records nothing."""
        at_once = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        with _translated(), at_once.connect() as connection:
            yield connection

    @contextmanager
    def exclusive(self, name: str, wait_s: float = 0.0) -> Iterator[None]:
        """Holds a lock by name against other threads and, on PostgreSQL, other servers.

        Acquire it before a transaction, never within a transaction, and never twice. Raises
        UnavailableError if another server still holds the lock after `wait_s`, if given.
        """
        with self.locks.setdefault(name, Lock()), _translated(), self.engine.begin() as connection:
            if connection.dialect.name in _ADVISORY_LOCKS:
                statement = _ADVISORY_LOCKS[connection.dialect.name]
                if wait_s:
                    connection.exec_driver_sql(_LOCK_WAITS, (f"{wait_s:.3f}s",))
                connection.exec_driver_sql(statement, (crc32(name.encode()),))
            yield

    def close(self) -> None:
        self.engine.dispose()


def open_database(dsn: str, data: Path) -> Database:
    """Opens the database of `dsn` (`postgresql://...`, `sqlite:///...`), or DATA/state.db if `dsn`
    is empty.

    Connects lazily. Raises StartError for an invalid DSN.
    """
    url = _url(dsn, data)
    is_sqlite = url.get_backend_name() == "sqlite"
    name = "" if is_sqlite else f"vedette-{secrets.token_hex(8)}"
    engine = _sqlite(url) if is_sqlite else _postgresql(url, name)
    audit_log.observe(engine)
    statement_budget.observe(engine)
    return Database(engine, name)


def time_us(connection: Connection) -> int:
    """Returns the time of the database's clock (epoch us), which all servers share."""
    return int(connection.exec_driver_sql(_TIMES[connection.dialect.name]).scalar_one())


def end_connections(connection: Connection, name: str) -> None:
    """Terminates the connections that another server opened under this name (`Database.name`),
    which releases their locks."""
    if name and connection.dialect.name in _ENDS_CONNECTIONS:
        connection.exec_driver_sql(_ENDS_CONNECTIONS[connection.dialect.name], (name,))


def check_references(connection: Connection) -> None:
    """Raises StartError if a row in SQLite refers to a missing row."""
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise StartError(
                f"the state database cannot be migrated: table {broken[0]} refers to a row of "
                f"{broken[2]} that does not exist"
            )


def _enforce_foreign_keys(connection: Connection, state: Literal["ON", "OFF"]) -> None:
    """Sets enforcement of foreign keys. SQLite ignores the pragma within a transaction, and
    SQLAlchemy begins one with the first statement, so this bypasses SQLAlchemy."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA foreign_keys={state}").close()


def insert_new(connection: Connection, table: Table) -> Any:
    """Returns an INSERT for `table` that skips existing rows (`ON CONFLICT DO NOTHING`)."""
    return _INSERTS[connection.dialect.name](table).on_conflict_do_nothing()


def _url(dsn: str, data: Path) -> URL:
    if not dsn:
        return URL.create("sqlite", database=str(data / "state.db"))
    try:
        url = make_url(dsn)
        return url.set(drivername=_DRIVERS[url.drivername])
    except (ArgumentError, ValueError):
        raise StartError("state_dsn: must be postgresql://user@host/name") from None
    except KeyError:
        raise StartError(
            f"state_dsn: unsupported database {url.drivername}; use postgresql or sqlite"
        ) from None


def _postgresql(url: URL, name: str) -> Engine:
    return create_engine(
        url,
        pool_size=STATE_CONNECTIONS_MAX,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": POSTGRES_CONNECT_S,
            "application_name": name,
            # Detect a network that drops all packets in seconds, not in two hours.
            "keepalives_idle": POSTGRES_SILENT_S,
            "keepalives_interval": POSTGRES_KEEPALIVE_S,
            "keepalives_count": POSTGRES_KEEPALIVES,
            "tcp_user_timeout": POSTGRES_SILENT_S * 1_000,
        },
    )


def _sqlite(url: URL) -> Engine:
    if url.database:
        _create_private(Path(url.database))
    engine = create_engine(url, pool_size=STATE_CONNECTIONS_MAX, max_overflow=0)

    @event.listens_for(engine, "connect")
    def configure(dbapi: Any, _record: object) -> None:
        dbapi.isolation_level = None
        dbapi.execute(f"PRAGMA busy_timeout={SQLITE_BUSY_MS}").close()
        _use_wal(dbapi)
        for pragma in ("synchronous=FULL", "foreign_keys=ON"):
            dbapi.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        is_writing = connection.get_execution_options().get("is_writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")

    return engine


def _use_wal(dbapi: Any) -> None:
    """Sets WAL mode. The first connection sets the mode of a new file; the others get "locked" at
    once, because `busy_timeout` does not apply to it, and retry."""
    until_s = time.monotonic() + SQLITE_BUSY_MS / 1_000
    while True:
        try:
            dbapi.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError as error:
            is_locked = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_locked or time.monotonic() > until_s:
                raise
        time.sleep(SQLITE_LOCKED_S)


def _create_private(path: Path) -> None:
    """Creates the file with access for its owner only: it contains password and token hashes."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}; the data directory must be writable") from None


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except PoolTimeoutError as error:
        raise UnavailableError("all state database connections are busy") from error
    except IntegrityError as error:
        raise ConflictError("it already exists or is still in use") from error
    except (DataError, OverflowError, UnicodeEncodeError) as error:
        raise BadRequestError("a value that the database cannot represent") from error
    except DBAPIError as error:
        if type(error) in _UNAVAILABLE:
            raise UnavailableError(f"the state database does not answer: {error.orig}") from error
        raise
