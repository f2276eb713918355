"""Creating the tables of a new store, and opening those of an older one."""

from collections import deque

from vedette.errors import StartError
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
    for table in TABLES:
        for statement in definitions(table, engine.capabilities):
            engine.command(statement)
        if _lacks_indexes(engine, table):
            for statement in additions(table, engine.capabilities):
                engine.command(statement)
    begin_merge_indexes(engine)
    if not found:
        engine.command(f"INSERT INTO schema SELECT {SCHEMA_VERSION}, now64(6, 'UTC')")


def check_schema(engine: Engine) -> None:
    """For commands that change nothing. Raises StartError unless the tables are of exactly this
    version."""
    found = engine.query("SELECT max(version) FROM schema").rows[0][0]
    check_version(found, SCHEMA_VERSION)
    if found != SCHEMA_VERSION:
        raise StartError("the telemetry store is of an older version: start the server on it once")


def _version(engine: Engine) -> int:
    """The schema version of the store; 0 for a new one, and for one whose creation was killed."""
    for statement in definitions(SCHEMA, engine.capabilities):
        engine.command(statement)
    found: int = engine.query("SELECT max(version) FROM schema").rows[0][0]
    return found


def _lacks_indexes(engine: Engine, table: Table) -> bool:
    """Whether the table lacks an index on any server. `ADD INDEX IF NOT EXISTS` of what exists
    costs half a second at every start: the engine analyses all expressions anew."""
    if not table.indexes:
        return False
    found = engine.query(
        "SELECT min(arrayAll(one -> position(create_table_query, one) > 0, {names:Array(String)})) "
        f"FROM {engine.capabilities.system('tables')} "
        "WHERE database = {database:String} AND name = {table:String}",
        {
            "names": [f"INDEX {name} " for name in table.index_names],
            "database": engine.database,
            "table": storage(table, engine.capabilities),
        },
    )
    return not found.rows[0][0]
