"""The state database, once as SQLite and once as PostgreSQL.

PostgreSQL is a private one, started for the session on a socket in a temporary folder, or the
server that `VEDETTE_TEST_POSTGRES` names (its user must be allowed to create databases).
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.postgres_server import postgres_server
from vedette.state.db.database import Database, open_database
from vedette.state.start import FirstCredentials, start

NOW_US = 1_700_000_000_000_000
_STRATEGY_SINCE = 150_000
"""The version of PostgreSQL that lets one choose how a template is copied."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """DSN of a PostgreSQL server to create databases on."""
    given = os.environ.get("VEDETTE_TEST_POSTGRES")
    if given:
        yield given
        return
    with postgres_server() as server:
        yield server.dsn


@pytest.fixture(params=["sqlite", "postgresql"])
def engine_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def dsn(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each engine."""
    server = server_of(engine_name, request)
    made = create(server, tmp_path / "empty.db")
    yield made
    drop(server, made)


@pytest.fixture
def empty(dsn: str, tmp_path: Path) -> Iterator[Database]:
    """A database without a schema."""
    database = open_database(dsn, tmp_path)
    yield database
    database.close()


@pytest.fixture(scope="session")
def started() -> dict[str, tuple[str, FirstCredentials]]:
    """Started databases to copy, by engine, with their credentials: starting takes a while."""
    return {}


@pytest.fixture
def first(
    engine_name: str,
    started: dict[str, tuple[str, FirstCredentials]],
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> FirstCredentials:
    """The credentials of the started server whose database `another` opens."""
    if engine_name not in started:
        file = tmp_path_factory.mktemp("started") / "state.db"
        dsn = create(server_of(engine_name, request), file)
        database = open_database(dsn, Path())
        credentials = start(database, NOW_US)
        database.close()
        assert credentials is not None
        started[engine_name] = (dsn, credentials)
    return started[engine_name][1]


@pytest.fixture
def another(
    engine_name: str,
    first: FirstCredentials,
    started: dict[str, tuple[str, FirstCredentials]],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[Callable[[], Database]]:
    """Opens the same database once more, as a second server or a command would."""
    server = server_of(engine_name, request)
    dsn = create(server, tmp_path / "state.db", started[engine_name][0])
    opened: list[Database] = []

    def open_again() -> Database:
        opened.append(open_database(dsn, tmp_path))
        return opened[-1]

    yield open_again
    for database in opened:
        database.close()
    drop(server, dsn)


@pytest.fixture
def database(another: Callable[[], Database]) -> Database:
    """The database of a started server."""
    return another()


def server_of(engine_name: str, request: pytest.FixtureRequest) -> str:
    """DSN of the server to make databases on; "" for SQLite."""
    dsn: str = "" if engine_name == "sqlite" else request.getfixturevalue("postgres")
    return dsn


def create(server: str, file: Path, template: str = "") -> str:
    """A new database, in `file` where there is no server; empty, or as `template` is, which nobody
    has open. On a server its files are copied, not logged page by page."""
    original = make_url(template).database if template else ""
    if not server:
        if original:
            shutil.copy(original, file)
        return f"sqlite:///{file}"
    name = "test_" + os.urandom(8).hex()
    with psycopg.connect(server, autocommit=True) as connection:
        options = f"TEMPLATE {original}" if original else ""
        if original and connection.info.server_version >= _STRATEGY_SINCE:
            options += " STRATEGY FILE_COPY"
        connection.execute(f"CREATE DATABASE {name} {options}".encode())
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def drop(server: str, dsn: str) -> None:
    """Files are left to who made their folder."""
    if server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {make_url(dsn).database} WITH (FORCE)".encode())
