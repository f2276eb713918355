"""Making the tables, and refusing those of a newer Vedette."""

from vedette.errors import StartError
from vedette.store.engine.client import Engine
from vedette.store.schema.merge_indexes import begin_merged_ends
from vedette.store.schema.tables import SCHEMA_VERSION, TABLES, Table, additions, definitions


def create_tables(engine: Engine) -> None:
    """Make what is missing, in tables that an older version made too; calling it again changes
    nothing.

    Raises StartError when the store was written by a newer schema than this one.
    """
    for table in TABLES:
        for statement in definitions(table, engine.capabilities):
            engine.command(statement)
        if _lacks_indexes(engine, table):
            for statement in additions(table, engine.capabilities):
                engine.command(statement)
    begin_merged_ends(engine)
    found = engine.query("SELECT max(version) FROM schema").rows[0][0]
    if found > SCHEMA_VERSION:
        raise StartError(
            f"the telemetry store has schema {found}, this server knows {SCHEMA_VERSION}: "
            "it was written by a newer version; start that one"
        )
    if found < SCHEMA_VERSION:
        engine.command(f"INSERT INTO schema SELECT {SCHEMA_VERSION}, now64(6, 'UTC')")


def _lacks_indexes(engine: Engine, table: Table) -> bool:
    """Whether any server has the table without some of its indexes. Adding what is there already
    would take half a second at every start: the engine understands all expressions anew."""
    if not table.indexes:
        return False
    found = engine.query(
        "SELECT min(arrayAll(one -> position(create_table_query, one) > 0, {names:Array(String)})) "
        f"FROM {engine.capabilities.system('tables')} "
        "WHERE database = {database:String} AND name = {table:String}",
        {
            "names": [f"INDEX {name} " for name in table.index_names],
            "database": engine.database,
            "table": engine.capabilities.storage(table.name),
        },
    )
    return not found.rows[0][0]
