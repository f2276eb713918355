"""A state database of every earlier version, with rows in all its tables, opened by this one.

The rows are what today's code writes, as far as the earlier schema has a place for it; tables
that stayed empty get a row that is made up from the types of its columns.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    func,
    insert,
    select,
    text,
)

from tests.contract.conftest import STATES
from tests.contract.state.conftest import create, drop, server_of
from tests.support.forms import IS_THOROUGH
from vedette.clock import DrivenClock
from vedette.model.host import Sighting
from vedette.model.principal import Role
from vedette.state import migrations
from vedette.state.accounts import teams, tokens, users
from vedette.state.accounts.tokens import NewToken, Tokens
from vedette.state.db.database import Database, open_database
from vedette.state.jobs import streams
from vedette.state.jobs.streams import Stream
from vedette.state.policy import groups, sites
from vedette.state.sensors import host_registry
from vedette.state.sensors.host_registry import Sensors
from vedette.state.start import FirstCredentials, check_current, start

pytestmark = pytest.mark.system

NOW_US = 1_700_000_000_000_000
PASSWORD = "correct horse battery"
Rows = list[dict[str, Any]]


def scripts(connection: Connection | None = None) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    return config


EARLIER = sorted(
    script.revision
    for script in ScriptDirectory.from_config(scripts()).walk_revisions()
    if not script.is_head
)
BEGUN = [
    (engine, version)
    for place, version in enumerate(EARLIER)
    for turn, engine in enumerate(STATES)
    if IS_THOROUGH or place % 2 == turn or version in EARLIER[-2:]
]
"""In the short form each engine has every other version, and the latest ones."""


@pytest.fixture(scope="session")
def lived() -> Iterator[dict[str, Database]]:
    """By engine what `lived_in` is: nothing here writes to it."""
    made: dict[str, Database] = {}
    yield made
    for database in made.values():
        database.close()


@pytest.fixture
def lived_in(
    engine_name: str,
    first: FirstCredentials,
    started: dict[str, tuple[str, FirstCredentials]],
    lived: dict[str, Database],
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Database:
    """A database of this version with what people make in a day."""
    if engine_name not in lived:
        file = tmp_path_factory.mktemp("lived_in") / "state.db"
        dsn = create(server_of(engine_name, request), file, started[engine_name][0])
        lived[engine_name] = open_database(dsn, Path())
        live(lived[engine_name])
    return lived[engine_name]


def live(database: Database) -> None:
    group = groups.add(database, "Servers", sites.add(database, "Berlin").id)
    team = teams.add(database, "Analysts", {group.id: Role.VIEWER})
    users.add(database, users.NewUser("ann", password=PASSWORD, team_ids=(team.id,)), NOW_US)
    known = Sensors(database).resolve({"pc.corp": Sighting("linux")}, group.id, NOW_US)
    host_registry.add_alias(database, "pc", "pc.corp")
    assert known["pc.corp"].group_id == group.id
    process = f"{known['pc.corp'].id:08x}-0000-0000-0000-000000000001"
    new = Stream("", process, True, (("event_type", ("filemod",)),), 5, 6, 7)
    streams.create(database, "ann", new, 100, NOW_US)


@pytest.fixture
def version(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def climbing() -> dict[str, tuple[str, str]]:
    """By engine a database without rows that goes from version to version, and the one it has: each
    test would begin with the first otherwise."""
    return {}


@pytest.fixture
def dsn(
    engine_name: str,
    version: str,
    climbing: dict[str, tuple[str, str]],
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """A database of an earlier version."""
    server = server_of(engine_name, request)
    folder = tmp_path_factory.mktemp("climbing")
    reached, original = climbing.get(engine_name, ("", ""))
    if not original or reached > version:
        original = create(server, folder / "original.db")
    database = open_database(original, folder)
    with database.writing() as connection:
        command.upgrade(scripts(connection), version)
    database.close()
    climbing[engine_name] = (version, original)
    made = create(server, folder / "state.db", original)
    yield made
    drop(server, made)


@pytest.fixture
def rows(lived_in: Database, empty: Database) -> dict[str, Rows]:
    """What the tables of `empty` hold, which is of an earlier version here."""
    with lived_in.reading() as source, empty.writing() as old:
        return {table.name: list(_filled(source, old, table)) for table in _tables(old)}


def _tables(connection: Connection) -> list[Table]:
    found = MetaData()
    found.reflect(connection)
    return [table for table in found.sorted_tables if table.name != "alembic_version"]


def _filled(source: Connection, old: Connection, table: Table) -> Iterator[dict[str, Any]]:
    names = [column.name for column in table.columns]
    reported = ", ".join(f'"{name}"' for name in names)
    rows = [dict(row) for row in source.execute(text(f"SELECT {reported} FROM {table}")).mappings()]
    old.execute(table.delete())  # what the migration itself put in
    old.execute(insert(table), rows or [_made_up(old, table)])
    _count_on(old, table)
    for row in old.execute(select(table)).mappings():
        yield dict(row)


def _made_up(old: Connection, table: Table) -> dict[str, Any]:
    return {column.name: _value(old, column) for column in table.columns}


def _value(old: Connection, column: "Column[Any]") -> Any:
    for key in column.foreign_keys:
        return old.scalar(select(func.min(key.column)))
    kinds = (
        (Boolean, True),
        (Float, 0.5),
        (Integer, 3),
        (BigInteger, 3),
        (LargeBinary, b"\x00\xff"),
    )
    return next((value for kind, value in kinds if isinstance(column.type, kind)), "{}")


def _count_on(old: Connection, table: Table) -> None:
    """PostgreSQL counts its ids up by itself only for rows that come without one."""
    if old.dialect.name == "postgresql" and "id" in table.columns:
        sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
        if isinstance(table.columns["id"].type, Integer) and old.scalar(text(f"SELECT {sequence}")):
            old.execute(text(f"SELECT setval({sequence}, (SELECT max(id) FROM {table.name}))"))


def held(database: Database, before: Mapping[str, Rows]) -> dict[str, Rows]:
    """The same columns of the same tables, as they are now."""
    found = {}
    with database.reading() as connection:
        for name, rows in before.items():
            reported = ", ".join(f'"{column}"' for column in rows[0])
            read = connection.execute(text(f"SELECT {reported} FROM {name}")).mappings()
            found[name] = [dict(row) for row in read]
    return found


@pytest.mark.parametrize(("engine_name", "version"), BEGUN, indirect=True)
def test_a_database_of_an_earlier_version_is_whole_understood_and_goes_on(
    empty: Database, rows: dict[str, Rows], lived_in: Database, first: FirstCredentials
) -> None:
    """One upgrade for all three: it is most of what they cost."""
    assert all(rows.values())
    assert start(empty, NOW_US) is None, "there are users, so no credentials are made"
    check_current(empty)
    assert held(empty, rows) == rows
    check_known(empty, rows, lived_in, first)
    check_going_on(empty, rows)


def check_known(
    empty: Database, rows: dict[str, Rows], lived_in: Database, first: FirstCredentials
) -> None:
    """What the earlier version knew is read by this one."""
    principal = Tokens(empty, DrivenClock(NOW_US)).authenticate(first.api_token.secret)
    assert principal is not None
    assert principal.is_global_admin
    assert users.matching_hash(empty, "ann", PASSWORD)
    assert users.all_users(empty) == users.all_users(lived_in)
    assert teams.all_teams(empty) == teams.all_teams(lived_in)
    assert groups.all_groups(empty) == groups.all_groups(lived_in)
    assert sites.all_sites(empty) == sites.all_sites(lived_in)
    assert host_registry.all_sensors(empty) == host_registry.all_sensors(lived_in)
    if "stream" in rows:
        named = str(rows["stream"][0]["id"])
        kept = [streams.load(one, "ann", named, 100, NOW_US) for one in (empty, lived_in)]
        assert kept[0] == kept[1]


def check_going_on(empty: Database, rows: dict[str, Rows]) -> None:
    """New ids are none that rows of the earlier version have."""
    group = groups.add(empty, "New")
    user = users.add(empty, users.NewUser("bob"), NOW_US)
    tokens.issue(empty, NewToken("api", user_id=user.id), NOW_US)
    ref = Sensors(empty).resolve({"new.corp": Sighting()}, group.id, NOW_US)["new.corp"]
    assert ref.id not in {row["id"] for row in rows["sensor"]}
    assert group.id not in {row["id"] for row in rows["sensor_group"]}
