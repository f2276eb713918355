"""Creates the tables of a new store, and checks and upgrades an existing store."""

from collections import deque
from dataclasses import dataclass
from typing import Final

from vedette.errors import StartError
from vedette.store.engine.capabilities import WHO_ANSWERS
from vedette.store.engine.client import Engine
from vedette.store.schema.merge_indexes import begin_merge_indexes
from vedette.store.schema.table import Table
from vedette.store.schema.tables import (
    SCHEMA,
    SCHEMA_VERSION,
    TABLES,
    additions,
    definitions,
    storage,
)
from vedette.store.schema.upgrade import check_version, upgrade


def create_tables(engine: Engine) -> None:
    """Creates missing tables and upgrades those of an older schema version; idempotent.

    Raises StartError, before anything is changed, for a store of a newer schema version.
    """
    found = _version(engine)
    check_version(found, SCHEMA_VERSION)
    if found:
        deque(upgrade(engine, found), maxlen=0)
    existing = _existing(engine)
    for table in TABLES:
        stored = existing.get(storage(table, engine.capabilities), _NONE)
        route = existing.get(table.name, _NONE)
        if not (stored.is_everywhere and route.is_everywhere):
            for statement in definitions(table, engine.capabilities):
                engine.command(statement)
        if any(_lacks_indexes(table, definition) for definition in stored.definitions):
            for statement in additions(table, engine.capabilities):
                engine.command(statement)
    begin_merge_indexes(engine)
    if not found:
        engine.command(f"INSERT INTO schema SELECT {SCHEMA_VERSION}, now64(6, 'UTC')")


def check_schema(engine: Engine) -> None:
    """Raises StartError unless the tables have exactly this schema version. For commands that
    change nothing."""
    found = engine.query("SELECT max(version) FROM schema").rows[0][0]
    check_version(found, SCHEMA_VERSION)
    if found != SCHEMA_VERSION:
        raise StartError("the telemetry store has an older schema; start the server on it once")


def _version(engine: Engine) -> int:
    """Returns the schema version of the store; 0 for a new store, and for one whose creation was
    interrupted."""
    is_there = "SELECT 1 FROM system.tables WHERE database = {database:String} AND name = 'schema'"
    # An ON CLUSTER statement fails while a server is down.
    if not engine.query(is_there, {"database": engine.database}).rows:
        for statement in definitions(SCHEMA, engine.capabilities):
            engine.command(statement)
    found: int = engine.query("SELECT max(version) FROM schema").rows[0][0]
    return found


@dataclass(frozen=True, slots=True)
class _Existing:
    """Definitions of a table on the servers."""

    is_everywhere: bool
    definitions: tuple[str, ...]


_NONE: Final = _Existing(is_everywhere=False, definitions=())


def _existing(engine: Engine) -> dict[str, _Existing]:
    """Maps table name to its definitions on the servers that answer. One query for all tables,
    because a statement for each costs 0.1 s at every start, and `ADD INDEX IF NOT EXISTS` of an
    existing index 0.5 s."""
    system = engine.capabilities.system
    found = engine.query(
        f"WITH (SELECT count() FROM {system('one')}) AS servers "
        "SELECT name, count() >= servers, groupArray(create_table_query) "
        f"FROM {system('tables')} WHERE database = {{database:String}} GROUP BY name",
        {"database": engine.database},
        settings=WHO_ANSWERS,
    )
    return {
        name: _Existing(bool(is_everywhere), tuple(definitions))
        for name, is_everywhere, definitions in found.rows
    }


def _lacks_indexes(table: Table, definition: str) -> bool:
    return any(f"INDEX {name} " not in definition for name in table.index_names)
