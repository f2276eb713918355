"""The identity of a telemetry store: a random id that its state database has, too.

Telemetry names sensors by numbers that the state database gives out. With a state database that
is new, older or another's, those numbers mean other hosts, and records of new hosts are taken for
duplicates. `bootstrap/store_identity.py` compares the two ids at every start.

Made here, not with the other tables: its existence distinguishes an older store from a new one,
and the table names it holds show which definitions were lost.
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
    """A host that telemetry names, as the state database knows it."""

    sensor_id: int
    hostname: str
    os_type: str


def check_tables(engine: Engine) -> None:
    """Call it before tables are made: a table whose definition is gone would be made anew, empty.

    Raises StartError that names the tables that are missing.
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
    """None in a new store, and in one that an older version made."""
    if IDENTITY.name not in _existing_tables(engine):
        return None
    found = engine.query(f"SELECT store_id FROM {IDENTITY.name} ORDER BY noted DESC LIMIT 1").rows
    return found[0][0] if found else None


def write_store_id(engine: Engine, store_id: str) -> None:
    """Idempotent; durable when it returns."""
    for statement in definitions(IDENTITY, engine.capabilities):
        engine.command(statement)
    tables = sorted(_table_names())
    engine.command(
        f"INSERT INTO {IDENTITY.name} "
        "SELECT {store_id:String}, {tables:Array(String)}, now64(6, 'UTC')",
        {"store_id": store_id, "tables": tables},
    )


def has_current_tables(engine: Engine) -> bool:
    """Whether the table names written last are this version's."""
    found = engine.query(f"SELECT tables FROM {IDENTITY.name} ORDER BY noted DESC LIMIT 1").rows
    return bool(found) and set(found[0][0]) == _table_names()


def newest_sensor_id(engine: Engine) -> int:
    """The largest sensor number that telemetry names; 0 without telemetry."""
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
    """All hosts of mounted partitions, by sensor number."""
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
