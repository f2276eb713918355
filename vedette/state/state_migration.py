"""Moves the state of a stopped server from SQLite to PostgreSQL: resumable and verified.

Each table is one transaction: it gets all rows with the same values, or none. Row count and
checksum are computed from the rows as the program reads them from either database, so they do not
depend on storage formats. An interrupted run is continued by the next one. The table `state_move`
exists in PostgreSQL until the move is complete, and keeps servers from starting.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import msgspec
import psycopg
from sqlalchemy import Connection, Table, func, inspect, select, text

from vedette.errors import BadRequestError, ConflictError, UnavailableError
from vedette.limits import Limit
from vedette.state.accounts import audit_trail
from vedette.state.db.audit_log import Entry
from vedette.state.db.database import Database
from vedette.state.db.schema import SENSOR, USER
from vedette.state.db.schema_fleet import SENSOR_SHARD, SHARD_RANGE
from vedette.state.servers.tables import SERVER
from vedette.state.start import MOVE_TABLE, START_LOCK
from vedette.state.store_identity import load_identity
from vedette.state.table_list import ALL_TABLES

STATE_MOVE_ROWS: Limit[int] = 5_000
"""Rows in memory at once during a move to PostgreSQL."""


_MAP: Final = (SHARD_RANGE, SENSOR_SHARD)
"""Tables of the shard map. `vedette cluster init` may have created it in PostgreSQL, where this
server never had a map."""

_MODULUS: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class TableContent:
    """Row count and checksum, equal for databases with the same rows."""

    rows: int
    checksum: int
    """Sum of the rows' hashes, modulo 2^64."""


def content(connection: Connection, table: Table) -> TableContent:
    rows, checksum = 0, 0
    for row in _rows(connection, table):
        digest = blake2b(msgspec.msgpack.encode(tuple(row)), digest_size=8).digest()
        rows, checksum = rows + 1, checksum + int.from_bytes(digest)
    return TableContent(rows, checksum % _MODULUS)


def is_under_way(target: Database) -> bool:
    """Whether an earlier run has begun and not ended."""
    with target.reading() as connection:
        return inspect(connection).has_table(MOVE_TABLE)


def move(
    source: Database, target: Database, note: Callable[[str, TableContent, bool], None]
) -> None:
    """Moves all tables. Calls `note` with each table's name and content, and whether it was sent in
    this run. The source is locked meanwhile.

    Raises ConflictError for a target in use by others, BadRequestError for a value that PostgreSQL
    cannot store, UnavailableError if a database does not answer; the call can then be repeated.
    """
    identity = load_identity(source)
    if identity is None:
        raise BadRequestError("the state database is empty; start a server on it once")
    with source.writing() as from_here:
        _begin(from_here, target, identity.store_id)
        for table in _moved(from_here):
            note(table.name, *_move_table(from_here, target, table))
        _finish(from_here, target)
    audit_trail.record(target, Entry("run", "state", "moved to PostgreSQL"))


def _moved(from_here: Connection) -> Iterator[Table]:
    has_map = from_here.scalar(select(func.count()).select_from(SHARD_RANGE))
    for table in ALL_TABLES:
        if has_map or table not in _MAP:
            yield table


def _begin(from_here: Connection, target: Database, store_id: str) -> None:
    """Marks and empties the target, unless an earlier run has done so."""
    with target.reading() as connection:  # a plain transaction that bypasses the audit log
        connection.execute(text(START_LOCK["postgresql"]))
        if inspect(connection).has_table(MOVE_TABLE):
            found = connection.scalar(text(f"SELECT store_id FROM {MOVE_TABLE}"))
            if found != store_id:
                raise ConflictError("another server's state is being moved into this database")
            return
        there = load_identity(target)
        if there is not None and there.store_id == store_id:
            raise ConflictError("this server's state was moved to this PostgreSQL database before")
        for table in (USER, SENSOR, SERVER):
            if connection.scalar(select(func.count()).select_from(table)):
                raise ConflictError(
                    "a server was started on this PostgreSQL database: name an empty one"
                )
        connection.execute(text(f"CREATE TABLE {MOVE_TABLE} (store_id TEXT NOT NULL)"))
        insert = text(f"INSERT INTO {MOVE_TABLE} VALUES (:store_id)")
        connection.execute(insert, {"store_id": store_id})
        names = ", ".join(_quoted(connection, table.name) for table in _moved(from_here))
        connection.execute(text(f"TRUNCATE {names}"))


def _move_table(from_here: Connection, target: Database, table: Table) -> tuple[TableContent, bool]:
    ours = content(from_here, table)
    try:
        with target.reading() as connection:
            theirs = content(connection, table)
            if theirs == ours:
                return ours, False
            if theirs.rows:
                raise ConflictError(
                    f"table {table.name} has {theirs.rows} rows in PostgreSQL and {ours.rows} "
                    "here: something else wrote to it; begin again with an empty database"
                )
            _send(from_here, connection, table)
            theirs = content(connection, table)
            if theirs != ours:
                raise ConflictError(f"table {table.name}: {ours} here, {theirs} in PostgreSQL")
    except psycopg.DataError as error:
        raise BadRequestError(f"table {table.name}: {error.diag.message_primary}") from error
    except psycopg.Error as error:
        raise UnavailableError(f"table {table.name}: PostgreSQL does not answer") from error
    return ours, True


def _send(from_here: Connection, connection: Connection, table: Table) -> None:
    columns = ", ".join(_quoted(connection, one.name) for one in table.columns)
    statement = f"COPY {_quoted(connection, table.name)} ({columns}) FROM STDIN"
    driver: Any = connection.connection.driver_connection
    with driver.cursor() as cursor, cursor.copy(statement) as copy:
        for row in _rows(from_here, table):
            _check_row(table, row)
            copy.write_row(tuple(row))


def _check_row(table: Table, row: Any) -> None:
    for column, value in zip(table.columns, row, strict=True):
        if isinstance(value, str) and "\0" in value:
            keys = ", ".join(
                f"{one.name} {row._mapping[one.name]!r}" for one in table.primary_key.columns
            )
            raise BadRequestError(
                f"table {table.name}, {keys}: {column.name} contains a null byte, which PostgreSQL "
                "cannot hold: change it on the old server"
            )


def _rows(connection: Connection, table: Table) -> Iterator[Any]:
    query = select(table).order_by(*table.primary_key.columns)
    yield from connection.execute(query, execution_options={"yield_per": STATE_MOVE_ROWS})


def _finish(from_here: Connection, target: Database) -> None:
    """Continues id sequences after the highest ids ever used, and allows servers to start."""
    used = {row[0]: int(row[1]) for row in from_here.execute(text("SELECT * FROM sqlite_sequence"))}
    with target.reading() as connection:
        for table in ALL_TABLES:
            _set_sequence(connection, table, used.get(table.name, 0))
        connection.execute(text(f"DROP TABLE {MOVE_TABLE}"))


def _set_sequence(connection: Connection, table: Table, used: int) -> None:
    key = table.autoincrement_column
    if key is None:
        return
    words = {"name": _quoted(connection, table.name), "key": key.name}
    sequence = connection.scalar(text("SELECT pg_get_serial_sequence(:name, :key)"), words)
    number = max(used, connection.scalar(select(func.max(key))) or 0)
    if sequence and number:
        setting = text("SELECT setval(CAST(:sequence AS regclass), :number)")
        connection.execute(setting, {"sequence": sequence, "number": number})


def _quoted(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote(name)
