"""Schema and first credentials, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from vedette.clock import DrivenClock
from vedette.errors import StartError
from vedette.state.accounts import users
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database, open_database
from vedette.state.db.schema import METADATA
from vedette.state.policy import groups
from vedette.state.start import FirstCredentials, check_current, start

NOW_US = 1_700_000_000_000_000


def test_the_first_credentials_work(database: Database, first: FirstCredentials) -> None:
    tokens = Tokens(database, DrivenClock(NOW_US))
    administrator = tokens.authenticate(first.api_token.secret)
    sender = tokens.authenticate(first.ingest_token.secret)
    assert administrator is not None
    assert administrator.is_global_admin
    assert sender is not None
    assert (sender.kind, sender.group_id) == ("ingest", groups.DEFAULT_GROUP_ID)
    assert users.matching_hash(database, first.username, first.password)


def test_a_second_start_makes_no_further_credentials(database: Database) -> None:
    assert start(database, NOW_US) is None
    assert [user.username for user in users.all_users(database)] == ["admin"]


def test_of_servers_that_start_at_once_exactly_one_makes_the_administrator(
    dsn: str, tmp_path: Path
) -> None:
    servers = [open_database(dsn, tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda database: start(database, NOW_US), servers))
    for database in servers:
        database.close()
    assert sum(credentials is not None for credentials in made) == 1


def test_a_new_file_is_opened_by_several_at_once(tmp_path: Path) -> None:
    """A command may do so during the first start of the server."""

    def opens(barrier: Barrier, folder: Path) -> None:
        database = open_database("", folder)
        barrier.wait()
        with database.writing() as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS made (number INTEGER)"))
            assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        database.close()

    with ThreadPoolExecutor(4) as threads:
        for number in range(60):
            barrier, folder = Barrier(4), tmp_path / str(number)
            folder.mkdir()
            list(threads.map(opens, [barrier] * 4, [folder] * 4))


def test_the_migrations_make_exactly_the_tables_of_the_schema(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(connection)
        differences: list[object] = compare_metadata(context, METADATA)
    assert differences == []


def test_a_schema_of_a_newer_version_is_refused_and_left_alone(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StartError, match=r"newer version .*9999"):
        start(database, NOW_US)
    with pytest.raises(StartError, match=r"newer version .*9999"):
        check_current(database)


def test_commands_refuse_a_database_that_no_server_has_used(empty: Database) -> None:
    with pytest.raises(StartError, match="start the server on it once"):
        check_current(empty)


def test_commands_refuse_a_schema_that_is_behind(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("DELETE FROM alembic_version"))
    with pytest.raises(StartError, match="start the server on it once"):
        check_current(database)


def test_a_started_database_suits_commands(database: Database) -> None:
    check_current(database)


def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    database = open_database("", tmp_path / "new")
    start(database, NOW_US)
    database.close()
    assert (tmp_path / "new" / "state.db").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_no_database_is_a_clear_refusal(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"this is no database" * 100)
    database = open_database("", tmp_path)
    with pytest.raises(StartError, match="not a database"):
        start(database, NOW_US)
    database.close()


def test_a_server_that_does_not_answer_is_a_clear_refusal_without_the_password(
    tmp_path: Path,
) -> None:
    dsn = f"postgresql://vedette:hunter2@/vedette?host={tmp_path}"
    database = open_database(dsn, tmp_path)
    with pytest.raises(StartError, match="cannot use the state database") as refusal:
        start(database, NOW_US)
    database.close()
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("dsn", ["mysql://host/db", "nonsense", "postgresql://host:port/db"])
def test_a_dsn_that_cannot_be_used_names_the_setting(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="state_dsn"):
        open_database(dsn, tmp_path)
