"""The identity of a telemetry store: a random id that is also in its state database.

Telemetry names sensors by numbers that the state database assigns. With a new, older or foreign
state database, those numbers refer to other hosts, and records of new hosts are mistaken for
duplicates. `bootstrap/store_identity.py` compares the two ids at every start.

The table is created here, not with the other tables: its existence distinguishes an older store
from a new one, and its list of table names shows which definitions were lost.
"""

from dataclasses import dataclass
from typing import Final

from vedette.errors import StartError
from vedette.store.engine.capabilities import EVERY_REPLICA
from vedette.store.engine.client import Engine
from vedette.store.schema.table import Table
from vedette.store.schema.tables import TABLES, definitions

IDENTITY: Final = Table(
    "identity",
    "MergeTree",
    columns=("store_id String", "tables Array(String)", "noted DateTime64(6, 'UTC')"),
    order_by="noted",
    sharded=False,
)


@dataclass(frozen=True, slots=True)
class Host:
    """A host in the telemetry, with the attributes that the state database has."""

    sensor_id: int
    hostname: str
    os_type: str


def check_tables(engine: Engine) -> None:
    """Checks that no table is missing. Call it before tables are created: a table whose definition
    is gone would be created again, empty.

    Raises StartError that names the missing tables.
    """
    existing = _existing_tables(engine)
    if IDENTITY.name not in existing:
        return
    found = engine.query(f"SELECT tables FROM {IDENTITY.name} ORDER BY noted DESC LIMIT 1").rows
    missing = sorted(set(found[0][0]) - existing) if found else []
    if missing:
        raise StartError(
            f"the telemetry store has lost the definition of {', '.join(missing)}: restore the "
            "telemetry directory from a backup, together with the state database"
        )


def read_store_id(engine: Engine) -> str | None:
    """Returns the store id; None for a new store, and for one that an older version created."""
    if IDENTITY.name not in _existing_tables(engine):
        return None
    found = engine.query(f"SELECT store_id FROM {IDENTITY.name} ORDER BY noted DESC LIMIT 1").rows
    return found[0][0] if found else None


def write_store_id(engine: Engine, store_id: str) -> None:
    """Writes the store id and table names. Idempotent; durable on return."""
    for statement in definitions(IDENTITY, engine.capabilities):
        engine.command(statement)
    tables = sorted(_table_names())
    engine.command(
        f"INSERT INTO {IDENTITY.name} "
        "SELECT {store_id:String}, {tables:Array(String)}, now64(6, 'UTC')",
        {"store_id": store_id, "tables": tables},
    )


def has_current_tables(engine: Engine) -> bool:
    """Whether the table names written last are those of this version."""
    found = engine.query(f"SELECT tables FROM {IDENTITY.name} ORDER BY noted DESC LIMIT 1").rows
    return bool(found) and set(found[0][0]) == _table_names()


def newest_sensor_id(engine: Engine) -> int:
    """Returns the largest sensor number in the telemetry; 0 without telemetry."""
    found = engine.query(
        "SELECT max(newest) FROM (SELECT max(sensor_id) AS newest FROM segment "
        "UNION ALL SELECT max(sensor_id) FROM record)"
    )
    return int(found.rows[0][0])


def is_unused(engine: Engine) -> bool:
    """Whether no server has ever written here: the first one opens a partition."""
    partitions = engine.capabilities.whole("partition")
    return not engine.query(f"SELECT count() FROM {partitions}", settings=EVERY_REPLICA).rows[0][0]


def read_hosts(engine: Engine) -> list[Host]:
    """Returns all hosts of mounted partitions, by sensor number."""
    found = engine.query(
        "SELECT sensor_id, argMax(hostname, seen), argMax(os, seen) FROM ("
        "SELECT sensor_id, hostname, os_type AS os, last_server_update AS seen FROM segment "
        "WHERE hostname != '' UNION ALL "
        "SELECT sensor_id, hostname, '', committed FROM record WHERE hostname != '') "
        "GROUP BY sensor_id ORDER BY sensor_id"
    )
    return [Host(*row) for row in found.rows]


def _table_names() -> set[str]:
    return {table.name for table in TABLES}


def _existing_tables(engine: Engine) -> set[str]:
    found = engine.query(
        "SELECT name FROM system.tables WHERE database = {database:String}",
        {"database": engine.database},
    )
    return {row[0] for row in found.rows}
