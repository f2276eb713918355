"""Migrates the state database to this version's schema, and creates the first credentials.

Each is one transaction under one lock, so that of several servers that start at once on one
PostgreSQL exactly one does it. A schema newer than this program is refused, never touched.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog
from sqlalchemy import Connection, func, inspect, select, text
from sqlalchemy.exc import DBAPIError

from vedette import limits
from vedette.errors import StartError, UnavailableError
from vedette.state.accounts import tokens, users
from vedette.state.db.database import Database
from vedette.state.db.schema import USER
from vedette.state.policy import groups

log = structlog.get_logger(__name__)

FIRST_USERNAME = "admin"

_MIGRATIONS = Path(__file__).parent / "migrations"

START_LOCK = {"postgresql": "SELECT pg_advisory_xact_lock(7310014021)", "sqlite": "SELECT 1"}
"""Excludes other servers until the transaction ends; SQLite's writers exclude each other."""

MOVE_TABLE = "state_move"
"""Is there while the state of another database is being moved into this one."""


@dataclass(frozen=True, slots=True)
class FirstCredentials:
    """Credentials that a new server prints once. Only hashes are kept."""

    username: str
    password: str
    api_token: tokens.Issued
    ingest_token: tokens.Issued


def start(
    database: Database, now_us: int, token_lifetime_us: int = limits.TOKEN_LIFETIME_US
) -> FirstCredentials | None:
    """Migrates; creates the first administrator where there is no user, else returns None.
    `token_lifetime_us` is of the first tokens; 0: they never expire.

    Raises StartError when the database cannot be reached or belongs to a newer version.
    """
    with _current(database) as connection:
        if not connection.scalar(select(func.count()).select_from(USER)):
            expires_us = now_us + token_lifetime_us if token_lifetime_us else 0
            return _first_credentials(connection, now_us, expires_us)
    if count := tokens.without_expiry(database, now_us):
        log.warning("tokens never expire", count=count, see="vedette token list")
    return None


def migrate(database: Database) -> None:
    """Migrates, and leaves it to the first server to make an administrator.

    Raises what `start` raises.
    """
    with _current(database):
        pass


@contextmanager
def _current(database: Database) -> Iterator[Connection]:
    """An exclusive transaction in a database of this version's schema."""
    try:
        with database.writing() as connection:
            connection.execute(text(START_LOCK[connection.dialect.name]))
            _refuse_half(connection)
            _migrate(connection)
            groups.create_defaults(connection)
            yield connection
    except (UnavailableError, DBAPIError) as error:
        raise StartError(f"the state database cannot be used: {_cause(error)}") from error


def is_unused(database: Database) -> bool:
    """Whether no server was ever started on it. Raises what `start` raises."""
    try:
        with database.reading() as connection:
            return _revision(connection) is None or not connection.scalar(
                select(func.count()).select_from(USER)
            )
    except (UnavailableError, DBAPIError) as error:
        raise StartError(f"the state database cannot be used: {_cause(error)}") from error


def check_current(database: Database) -> None:
    """Raises StartError unless the schema is exactly this version's: for commands that run
    while a server does, and must not migrate its database."""
    try:
        with database.reading() as connection:
            found = _revision(connection)
    except (UnavailableError, DBAPIError) as error:
        raise StartError(f"the state database cannot be used: {_cause(error)}") from error
    if found is None:
        raise StartError("the state database is empty: start the server on it once")
    _refuse_newer(found)
    if found != max(_revisions()):
        raise StartError("the state database is of an older version: start the server on it once")


def _refuse_half(connection: Connection) -> None:
    if inspect(connection).has_table(MOVE_TABLE):
        raise StartError(
            "a state is being moved into this database, and not all of it is there: run `vedette "
            "cluster migrate-state` again"
        )


def _migrate(connection: Connection) -> None:
    found = _revision(connection)
    if found is not None:
        _refuse_newer(found)
    if found == max(_revisions()):
        return
    # A tenth of a second to import, which most starts and every other command can do without.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _first_credentials(connection: Connection, now_us: int, expires_us: int) -> FirstCredentials:
    password = secrets.token_urlsafe(15)
    draft = users.NewUser(FIRST_USERNAME, password=password, is_global_admin=True)
    user_id = users.insert_checked(connection, draft, now_us)
    api = tokens.NewToken("api", "first administrator", user_id=user_id, expires_us=expires_us)
    ingest = tokens.NewToken(
        "ingest", "first sender", group_id=groups.DEFAULT_GROUP_ID, expires_us=expires_us
    )
    return FirstCredentials(
        username=FIRST_USERNAME,
        password=password,
        api_token=tokens.insert_checked(connection, api, now_us),
        ingest_token=tokens.insert_checked(connection, ingest, now_us),
    )


def _revision(connection: Connection) -> str | None:
    """The newest migration that the database has; None for one without a schema."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def _revisions() -> set[str]:
    """Of all migrations. They are one chain in the order of their names, which begin with them."""
    return {path.name.partition("_")[0] for path in _MIGRATIONS.glob("versions/[0-9]*.py")}


def newest_revision() -> str:
    """The newest migration of this version."""
    return max(_revisions())


def _refuse_newer(revision: str) -> None:
    if revision not in _revisions():
        raise StartError(
            f"the state database is of a newer version of Vedette (schema {revision}); "
            "run that version, or restore the backup made before the upgrade"
        )


def _cause(error: Exception) -> object:
    return error.orig if isinstance(error, DBAPIError) else error
