"""Failures of both databases raise the same errors of the product."""

from pathlib import Path

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import ProgrammingError

from tests.contract.conftest import on_postgresql, on_sqlite
from vedette.errors import BadRequestError, ConflictError, UnavailableError, VedetteError
from vedette.state.accounts import users
from vedette.state.db import database
from vedette.state.db.database import Database, open_database
from vedette.state.db.schema import GROUP, SENSOR, SITE
from vedette.state.policy import groups, sites


def test_a_block_that_raises_changes_nothing(database: Database) -> None:
    def change_and_raise() -> None:
        with database.writing() as connection:
            connection.execute(update(GROUP).values(name="changed"))
            raise KeyError

    with pytest.raises(KeyError):
        change_and_raise()
    assert groups.get(database, 1).name == "Default Group"


def test_a_row_that_exists_or_names_nothing_is_a_conflict(database: Database) -> None:
    for values in ({"name": "Default Group", "site_id": 1}, {"name": "new", "site_id": 404}):
        with pytest.raises(ConflictError), database.writing() as connection:
            connection.execute(insert(GROUP).values(values))


@pytest.mark.parametrize("value", [10**30, 2**63])
def test_a_number_without_a_form_is_the_callers_fault(database: Database, value: int) -> None:
    with pytest.raises(BadRequestError), database.writing() as connection:
        connection.execute(update(SENSOR).values(last_seen_us=value))


@pytest.mark.parametrize("name", ["nul\0", "\ud800", "x" * 100_000])
def test_a_name_without_a_form_is_the_callers_fault(database: Database, name: str) -> None:
    for ask in (lambda: users.get(database, name), lambda: groups.named(database, name)):
        with pytest.raises(VedetteError) as refusal:
            ask()
        assert not isinstance(refusal.value, UnavailableError)


@on_postgresql
def test_a_statement_that_is_wrong_is_a_bug_and_not_hidden(database: Database) -> None:
    """SQLite's driver does not distinguish one from a failing disk."""
    with pytest.raises(ProgrammingError), database.reading() as connection:
        connection.execute(text("SELECT nonsense FROM nowhere"))


def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    database = open_database(f"postgresql://vedette@/vedette?host={tmp_path}", tmp_path)
    with pytest.raises(UnavailableError), database.reading() as connection:
        connection.execute(select(SITE))


def test_a_writer_that_waits_too_long_is_asked_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SQLITE_BUSY_MS", 50)
    one, two = open_database("", tmp_path), open_database("", tmp_path)
    with one.writing(), pytest.raises(UnavailableError, match="locked"), two.writing():
        pass
    with two.writing():
        pass
    one.close()
    two.close()


@on_sqlite
def test_a_full_disk_is_unavailable_and_passes(database: Database) -> None:
    """The disk of PostgreSQL is not ours to fill."""
    with database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnavailableError, match="full"), database.writing() as connection:
        connection.execute(insert(SITE).values(name="x" * 100_000))
    with database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
        connection.execute(insert(SITE).values(name="x" * 100_000))
    assert len(sites.all_sites(database)) == 2
