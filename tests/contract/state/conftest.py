"""The state database, once as SQLite and once as PostgreSQL.

PostgreSQL is a private one, started for the session on a socket in a temporary folder, or the
server that `VEDETTE_TEST_POSTGRES` names (its user must be allowed to create databases).
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from vedette.state.db.database import Database, open_database
from vedette.state.start import FirstCredentials, start

NOW_US = 1_700_000_000_000_000
START_S = 20
INITDB_OPTIONS = ("-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--no-locale")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """DSN of a PostgreSQL server to create databases on."""
    given = os.environ.get("VEDETTE_TEST_POSTGRES")
    if given:
        yield given
        return
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL programs (initdb, postgres) on this machine")
    folder = Path(tempfile.mkdtemp(prefix="vedette-pg-", dir="/tmp"))  # sockets need short paths
    owner = _unprivileged(folder)
    try:
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", *INITDB_OPTIONS],
            check=True,
            capture_output=True,
            cwd=folder,
            **owner,
        )
        yield from _serving(programs, folder, owner)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def dsn(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each engine."""
    if engine_name == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return _create(request.getfixturevalue("postgres"))


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
        if engine_name == "sqlite":
            dsn = f"sqlite:///{tmp_path_factory.mktemp('started') / 'state.db'}"
        else:
            dsn = _create(request.getfixturevalue("postgres"))
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
    template = make_url(started[engine_name][0])
    if engine_name == "sqlite":
        shutil.copy(str(template.database), tmp_path / "state.db")
        dsn = f"sqlite:///{tmp_path / 'state.db'}"
    else:
        dsn = _create(request.getfixturevalue("postgres"), f"TEMPLATE {template.database}")
    opened: list[Database] = []

    def open_again() -> Database:
        opened.append(open_database(dsn, tmp_path))
        return opened[-1]

    yield open_again
    for database in opened:
        database.close()


@pytest.fixture
def database(another: Callable[[], Database]) -> Database:
    """The database of a started server."""
    return another()


def _create(server: str, options: str = "") -> str:
    url = make_url(server)
    name = "test_" + os.urandom(8).hex()
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} {options}".encode())
    return url.set(database=name).render_as_string(hide_password=False)


def _programs() -> Path | None:
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres", known["nobody"])
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _serving(programs: Path, folder: Path, owner: dict[str, Any]) -> Iterator[str]:
    settings = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off"]
    command: list[str | Path] = [programs / "postgres", "-D", folder / "data"]
    for setting in settings:
        command += ["-c", setting]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **owner)
        try:
            dsn = f"postgresql://postgres@/postgres?host={folder}"
            _wait_until_ready(dsn, server)
            yield dsn
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(START_S)


def _wait_until_ready(dsn: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(dsn).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline or server.poll() is not None:
                raise
            time.sleep(0.1)
