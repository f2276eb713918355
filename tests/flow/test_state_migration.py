"""`vedette cluster migrate-state`: all state moves from SQLite to a real PostgreSQL, whatever ends
the command in the middle."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Column, Float, Integer, LargeBinary, Table, select, text
from sqlalchemy.exc import IntegrityError

from tests.flow.test_cluster_command import run
from tests.support.commands import vedette
from tests.support.ports import free_port
from tests.support.postgres_server import Postgres, postgres_server
from tests.support.started_state import open_started_state
from vedette.errors import ConflictError, StartError
from vedette.model.host import Sighting
from vedette.state import state_migration
from vedette.state.db.database import Database, open_database
from vedette.state.db.schema import SENSOR, SITE
from vedette.state.db.schema_audit import AUDIT, AUDIT_HEAD
from vedette.state.sensors.host_registry import Sensors
from vedette.state.start import MOVE_TABLE, migrate, start
from vedette.state.state_migration import TableContent, content, is_under_way
from vedette.state.store_identity import StateIdentity, save_identity
from vedette.state.table_list import ALL_TABLES

NOW_US = 1_700_000_000_000_000
ROWS = 3
GONE = 4_711
"""A sensor that was given out and is there no more."""

_numbers = count()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as started:
        yield started


@pytest.fixture
def data(postgres: Postgres, tmp_path: Path) -> Path:
    """Data directory of a server that has rows in every table and is configured with an empty
    PostgreSQL database."""
    source = open_started_state(tmp_path, NOW_US)
    save_identity(source, StateIdentity(f"id-{next(_numbers)}", is_pending=False))
    fill(source)
    source.close()
    dsn = postgres.new_database(f"moved_{next(_numbers)}")
    (tmp_path / "vedette.toml").write_text(f'state_dsn = "{dsn}"\n')
    return tmp_path


def target_of(data: Path) -> Database:
    dsn = (data / "vedette.toml").read_text().split('"')[1]
    return open_database(dsn, data)


def fill(source: Database) -> None:
    """Rows of every kind of value in every table."""
    for table in ALL_TABLES:
        for number in range(1, 1 + ROWS) if table not in (AUDIT, AUDIT_HEAD) else ():
            try:
                with source.engine.begin() as connection:
                    connection.execute(table.insert().values(values(connection, table, number)))
            except IntegrityError:
                continue  # the started server has such a row
    with source.engine.begin() as connection:
        connection.execute(
            text("UPDATE sqlite_sequence SET seq = :n WHERE name = 'sensor'"), {"n": GONE}
        )
        for table in ALL_TABLES:
            assert connection.execute(select(table)).first() is not None, table.name


def values(connection: Any, table: Table, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column in table.columns:
        if column.foreign_keys:
            parent = next(iter(column.foreign_keys)).column
            rows = connection.execute(select(parent).order_by(parent)).scalars().all()
            found[column.name] = rows[number % len(rows)]
        else:
            found[column.name] = value(column, number)
    return found


def value(column: Column[Any], number: int) -> Any:
    if isinstance(column.type, Boolean):
        return bool(number % 2)
    if isinstance(column.type, Float):
        return number / 7
    if isinstance(column.type, LargeBinary):
        return b"\0\xff\\x" + bytes([number])
    if isinstance(column.type, Integer):
        is_long = "BIGINT" in str(column.type) and not column.primary_key
        return number + (1 << 52 if is_long else 1)
    return f"{column.name} {number} \\N \t\n ü \U0001f600"


def contents(database: Database) -> dict[str, TableContent]:
    with database.reading() as connection:
        return {table.name: content(connection, table) for table in ALL_TABLES}


def test_every_table_is_moved_and_numbers_go_on(data: Path) -> None:
    source = open_database("", data)
    before = contents(source)
    reported = run(data, "migrate-state")
    assert reported.count(": equal") + reported.count(": there already") == len(ALL_TABLES)
    target = target_of(data)
    after = contents(target)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"audit", "audit_head"}  # the move itself is an entry
    assert after["audit"].rows == before["audit"].rows + 1
    assert contents(source) == before
    assert start(target, NOW_US) is None
    refs = Sensors(target).resolve({"new.example": Sighting("windows")}, 1, NOW_US)
    assert refs["new.example"].id > GONE
    assert "was moved to this PostgreSQL database before" in run(data, "migrate-state", exit_code=2)
    source.close()
    target.close()


def test_a_run_that_is_killed_is_continued_and_no_server_starts_between(data: Path) -> None:
    words = [sys.executable, "-m", "vedette", "cluster", "migrate-state", "--data", str(data)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("feed:"):
                process.kill()
                break
    target = target_of(data)
    if is_under_way(target):  # else it was done before it died
        with pytest.raises(StartError, match="migrate-state"):
            migrate(target)
        reported = run(data, "migrate-state")
        assert ": there already" in reported
    assert not is_under_way(target)
    assert start(target, NOW_US) is None
    target.close()


def test_a_server_does_not_begin_anew_beside_its_state(data: Path) -> None:
    reported = vedette("serve", "--data", data, "--port", str(free_port()))
    assert (reported.returncode, "cluster migrate-state" in reported.stderr) == (2, True), (
        reported.stderr
    )
    assert "no longer used" in run(data, "migrate-state")


def test_what_ends_it_between_two_tables_loses_nothing(data: Path) -> None:
    source, target = open_database("", data), target_of(data)
    migrate(target)
    sent: list[str] = []

    def note(table: str, _found: TableContent, was_sent: bool) -> None:
        sent.extend([table] * was_sent)
        if table == "sensor_group":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        state_migration.move(source, target, note)
    assert is_under_way(target)
    again: list[str] = []
    state_migration.move(source, target, lambda name, _, was_sent: again.extend([name] * was_sent))
    assert set(sent) & set(again) == set()
    assert {table.name for table in ALL_TABLES} == {*sent, *again}
    source.close()
    target.close()


def test_rows_of_others_are_left_alone(data: Path) -> None:
    source, target = open_database("", data), target_of(data)
    migrate(target)
    with target.engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE {MOVE_TABLE} (store_id TEXT)"))
        connection.execute(text(f"INSERT INTO {MOVE_TABLE} VALUES ('another')"))
    with pytest.raises(ConflictError, match="another server's state"):
        state_migration.move(source, target, lambda *_: None)
    with target.engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {MOVE_TABLE}"))
        connection.execute(SENSOR.delete())
    assert start(target, NOW_US) is not None
    before = contents(target)
    assert "name an empty one" in run(data, "migrate-state", exit_code=2)
    assert contents(target) == before
    source.close()
    target.close()


def test_a_value_that_postgresql_cannot_hold_is_named_and_can_be_mended(data: Path) -> None:
    source = open_database("", data)
    with source.engine.begin() as connection:
        connection.execute(SITE.insert().values(id=99, name="zero\0byte"))
    reported = run(data, "migrate-state", exit_code=2)
    assert "table site, id 99: name contains a null byte" in reported
    with source.engine.begin() as connection:
        connection.execute(SITE.update().where(SITE.c.id == 99).values(name="none"))
    assert "no longer used" in run(data, "migrate-state")
    source.close()


def test_what_is_no_move_is_refused(data: Path, tmp_path: Path) -> None:
    assert "names no PostgreSQL" in run(data, "migrate-state", "--set", "state_dsn=", exit_code=2)
    access = (
        f'{{"url": "", "token": "", "ingest_token": "", "certificate": "", "pid": {os.getpid()}}}'
    )
    (data / "server.json").write_text(access)
    assert "stop it first" in run(data, "migrate-state", exit_code=2)
    (data / "server.json").unlink()
    (data / "state.db").unlink()
    assert "no state database at" in run(data, "migrate-state", exit_code=2)
