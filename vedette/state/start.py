"""Migrates the state database to this version's schema, and creates the first credentials.

Each is one transaction under one lock, so that of several servers that start together on one
PostgreSQL database exactly one does it. A schema newer than this program is refused and never
changed.
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
from vedette.file_tree import matching
from vedette.state.accounts import tokens, users
from vedette.state.db.database import Database, check_references
from vedette.state.db.schema import USER
from vedette.state.policy import groups

log = structlog.get_logger(__name__)

FIRST_USERNAME = "admin"

_MIGRATIONS = Path(__file__).parent / "migrations"

START_LOCK = {"postgresql": "SELECT pg_advisory_xact_lock(7310014021)", "sqlite": "SELECT 1"}
"""Lock that excludes other servers until the transaction ends. SQLite's writers exclude each other
anyway."""

MOVE_TABLE = "state_move"
"""Table that exists while the state of another database is being moved into this one."""

_SEQUENCES = "sqlite_sequence"
"""SQLite's table of highest ids; it is missing without autoincrement tables."""


@dataclass(frozen=True, slots=True)
class FirstCredentials:
    """Credentials that a new server prints once. The server stores only hashes."""

    username: str
    password: str
    api_token: tokens.Issued
    ingest_token: tokens.Issued


def start(
    database: Database, now_us: int, token_lifetime_us: int = limits.TOKEN_LIFETIME_US
) -> FirstCredentials | None:
    """Migrates the schema. Creates and returns the first administrator's credentials if there is no
    user, else None.

    `token_lifetime_us` applies to the first tokens; 0: they never expire. Raises StartError if the
    database is unreachable or belongs to a newer version.
    """
    with _current(database) as connection:
        if not connection.scalar(select(func.count()).select_from(USER)):
            expires_us = now_us + token_lifetime_us if token_lifetime_us else 0
            return _first_credentials(connection, now_us, expires_us)
    if count := tokens.without_expiry(database, now_us):
        log.warning("tokens never expire", count=count, see="vedette token list")
    return None


def migrate(database: Database) -> None:
    """Migrates the schema without creating an administrator; the first server does.

    Raises the errors of `start`.
    """
    with _current(database):
        pass


@contextmanager
def _current(database: Database) -> Iterator[Connection]:
    """Opens an exclusive transaction after migrating to this version's schema."""
    try:
        with database.migrating() as connection:
            connection.execute(text(START_LOCK[connection.dialect.name]))
            _refuse_half(connection)
            _migrate(connection)
            groups.create_defaults(connection)
            yield connection
    except (UnavailableError, DBAPIError) as error:
        raise StartError(f"cannot use the state database: {_cause(error)}") from error


def is_unused(database: Database) -> bool:
    """Whether no server was ever started on the database. Raises the errors of `start`."""
    try:
        with database.reading() as connection:
            return _revision(connection) is None or not connection.scalar(
                select(func.count()).select_from(USER)
            )
    except (UnavailableError, DBAPIError) as error:
        raise StartError(f"cannot use the state database: {_cause(error)}") from error


def check_current(database: Database) -> None:
    """Raises StartError unless the schema is exactly this version's. For commands that run beside a
    server and must not migrate its database."""
    try:
        with database.reading() as connection:
            found = _revision(connection)
    except (UnavailableError, DBAPIError) as error:
        raise StartError(f"cannot use the state database: {_cause(error)}") from error
    if found is None:
        raise StartError("the state database is empty; start the server on it once")
    _refuse_unknown(found)
    if found != newest_revision():
        raise StartError("the state database has an older schema; start the server on it once")


def _refuse_half(connection: Connection) -> None:
    if inspect(connection).has_table(MOVE_TABLE):
        raise StartError(
            "a state migration into this database is incomplete; run `vedette "
            "cluster migrate-state` again"
        )


def _migrate(connection: Connection) -> None:
    found = _revision(connection)
    if found is not None:
        _refuse_unknown(found)
    if found == newest_revision():
        return
    # Importing Alembic takes a tenth of a second, which most starts and all other commands save.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    counted = _counted_ids(connection)
    command.upgrade(config, "head")
    _count_on(connection, counted)
    check_references(connection)


def _counted_ids(connection: Connection) -> dict[str, int]:
    """Maps each SQLite table whose ids are never reused to its highest id ever."""
    if connection.dialect.name != "sqlite" or not inspect(connection).has_table(_SEQUENCES):
        return {}
    query = text(f"SELECT name, seq FROM {_SEQUENCES}")
    return {name: int(number) for name, number in connection.execute(query)}


def _count_on(connection: Connection, counted: dict[str, int]) -> None:
    """Restores the counters of ids. SQLite changes most of a table by copying it, and the copy
    counts only existing ids."""
    now = _counted_ids(connection)
    for name, number in counted.items():
        if now.get(name, number) < number:
            update = text(f"UPDATE {_SEQUENCES} SET seq = :number WHERE name = :name")
            connection.execute(update, {"name": name, "number": number})


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
    """Returns the newest applied migration; None for a database without a schema."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def _revisions() -> set[str]:
    """Returns the revisions of all migrations. They form one chain in the order of the file names,
    which begin with them."""
    return {path.name.partition("_")[0] for path in matching(_MIGRATIONS, "versions/[0-9]*.py")}


def newest_revision() -> str:
    """Returns the newest migration of this version."""
    return max(_revisions())


def _refuse_unknown(revision: str) -> None:
    if revision > newest_revision():
        raise StartError(
            f"the state database is of a newer version of Vedette (schema {revision}); "
            "run that version, or restore the backup made before the upgrade"
        )
    if revision not in _revisions():
        raise StartError(
            f"the state database is of an older version of Vedette (schema {revision}), from "
            "before the first release: it cannot be upgraded"
        )


def _cause(error: Exception) -> object:
    return error.orig if isinstance(error, DBAPIError) else error
