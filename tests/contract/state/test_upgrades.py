"""A database of this version is upgraded by the next one: by a migration that this test adds, with
rows in all tables. A start that is killed within the migration leaves the database as it was."""

import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    Table,
    func,
    insert,
    inspect,
    select,
    text,
)

from tests.contract.conftest import on_both_states
from vedette.clock import DrivenClock
from vedette.errors import StartError
from vedette.model.host import Sighting
from vedette.state import start as starting
from vedette.state.accounts import users
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database, open_database
from vedette.state.policy import groups
from vedette.state.sensors.host_registry import Sensors
from vedette.state.start import FirstCredentials, check_current, newest_revision, start
from vedette.state.table_list import ALL_TABLES

pytestmark = on_both_states

NOW_US = 1_700_000_000_000_000
NEXT = "9000"
MIGRATION = '''"""A table that SQLite makes anew, a column, a new table, changed rows."""

import os
import signal
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "{next}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("team", sa.Column("note", sa.Text(), server_default="none", nullable=False))
    op.create_table("next_table", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("INSERT INTO next_table VALUES (1)")
    with op.batch_alter_table("sensor", table_kwargs={{"sqlite_autoincrement": True}}) as sensor:
        sensor.drop_constraint("uq_sensor_hostname", type_="unique")
        sensor.create_unique_constraint("uq_sensor_names", ["hostname", "group_id", "machine_id"])
    if Path({kills!r}).exists():
        os.kill(os.getpid(), signal.SIGKILL)
    op.execute("UPDATE team SET note = 'upgraded'")
'''
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Migrations of the next version, which a start runs. It is killed within them while the file
    `kills` exists beside the folder."""
    folder = tmp_path / "migrations"
    shutil.copytree(starting._MIGRATIONS, folder)
    migration = MIGRATION.format(next=NEXT, before=newest_revision(), kills=str(tmp_path / "kills"))
    (folder / "versions" / f"{NEXT}_next.py").write_text(migration)
    monkeypatch.setattr(starting, "_MIGRATIONS", folder)
    return folder


@pytest.fixture
def filled(database: Database) -> Rows:
    """Rows of all tables: made up from the types of their columns where nobody wrote any."""
    group = groups.add(database, "Servers")
    Sensors(database).resolve({"pc.corp": Sighting("linux")}, group.id, NOW_US)
    users.add(database, users.NewUser("ann", password="correct horse battery"), NOW_US)
    with database.reading() as connection:  # its own transaction: it writes, past the audit log
        for table in ALL_TABLES:
            if not connection.scalar(select(func.count()).select_from(table)):
                connection.execute(insert(table), _made_up(connection, table))
    found = rows(database)
    assert all(found.values())
    return found


def _made_up(connection: Connection, table: Table) -> dict[str, Any]:
    return {column.name: _value(connection, column) for column in table.columns}


def _value(connection: Connection, column: "Column[Any]") -> Any:
    for key in column.foreign_keys:
        return connection.scalar(select(func.min(key.column)))
    kinds = ((Boolean, True), (Float, 0.5), (Integer, 3), (LargeBinary, b"\x00\xff"))
    return next((value for kind, value in kinds if isinstance(column.type, kind)), "{}")


def rows(database: Database) -> Rows:
    """Returns the rows of all tables, with the columns of this version."""
    with database.reading() as connection:
        return {table.name: _rows(connection, table) for table in ALL_TABLES}


def _rows(connection: Connection, table: Table) -> list[dict[str, Any]]:
    query = select(table).order_by(*table.primary_key.columns)
    return [dict(row) for row in connection.execute(query).mappings()]


def notes(database: Database) -> set[str]:
    """Returns the values in the column that the migration adds."""
    with database.reading() as connection:
        return set(connection.scalars(text("SELECT note FROM team")))


def is_untouched(database: Database) -> bool:
    """Returns whether the database has no table or column of the migration."""
    with database.reading() as connection:
        found = inspect(connection)
        names = {column["name"] for column in found.get_columns("team")}
        unique = {one["name"] for one in found.get_unique_constraints("sensor")}
        return (
            "note" not in names
            and unique == {"uq_sensor_hostname"}
            and not found.has_table("next_table")
        )


def test_an_upgrade_keeps_all_rows_and_goes_on(
    filled: Rows, later: Path, database: Database, first: FirstCredentials
) -> None:
    with pytest.raises(StartError, match="older schema; start the server on it once"):
        check_current(database)
    assert start(database, NOW_US) is None, "there are users, so no credentials are made"
    check_current(database)
    assert rows(database) == filled
    assert notes(database) == {"upgraded"}
    assert Tokens(database, DrivenClock(NOW_US)).authenticate(first.api_token.secret)
    known = Sensors(database).resolve({"new.corp": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US)
    assert known["new.corp"].id > max(row["id"] for row in filled["sensor"])


def test_no_sensor_id_is_given_again_after_a_table_was_made_anew(
    filled: Rows, later: Path, database: Database
) -> None:
    gone = Sensors(database).resolve({"gone.corp": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US)
    with database.reading() as connection:
        connection.execute(text("DELETE FROM sensor WHERE hostname = 'gone.corp'"))
    start(database, NOW_US)
    new = Sensors(database).resolve({"new.corp": Sighting()}, groups.DEFAULT_GROUP_ID, NOW_US)
    assert new["new.corp"].id > gone["gone.corp"].id


def test_an_upgrade_that_is_killed_halfway_changed_nothing_and_is_done_again(
    filled: Rows, later: Path, database: Database, tmp_path: Path
) -> None:
    (tmp_path / "kills").touch()
    code = (
        "import sys; from pathlib import Path; from vedette.state import start as starting\n"
        "from vedette.state.db.database import open_database\n"
        "starting._MIGRATIONS = Path(sys.argv[1])\n"
        "starting.migrate(open_database(sys.argv[2], Path(sys.argv[3])))"
    )
    dsn = database.engine.url.render_as_string(hide_password=False)
    words = [sys.executable, "-c", code, str(later), dsn, str(tmp_path)]
    ended = subprocess.run(words, check=False, capture_output=True, timeout=60)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert is_untouched(database)
    assert rows(database) == filled
    (tmp_path / "kills").unlink()
    start(database, NOW_US)
    assert rows(database) == filled
    assert notes(database) == {"upgraded"}


def test_of_servers_that_start_at_once_exactly_one_upgrades(
    filled: Rows, later: Path, database: Database, tmp_path: Path
) -> None:
    dsn = database.engine.url.render_as_string(hide_password=False)
    servers = [open_database(dsn, tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda server: start(server, NOW_US), servers))
    for server in servers:
        server.close()
    assert rows(database) == filled
    with database.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM next_table")) == 1


def test_the_version_before_refuses_an_upgraded_database(
    filled: Rows, later: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(database, NOW_US)
    monkeypatch.undo()
    with pytest.raises(StartError, match=f"newer version .*{NEXT}"):
        start(database, NOW_US)
    assert rows(database) == filled


def test_a_database_from_before_the_first_release_is_refused(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0043'"))
    for opens in (check_current, lambda one: start(one, NOW_US)):
        with pytest.raises(StartError, match=r"older version .*0043.* cannot be upgraded"):
            opens(database)
