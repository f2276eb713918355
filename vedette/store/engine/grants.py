"""The grants that the user of a ClickHouse cluster needs, and a check of them at start.

ClickHouse checks a grant only when a statement runs, so a missing grant would otherwise fail the
first search, hours after the start. The tests run with exactly these grants (`tests/conftest.py`).
"""

from dataclasses import dataclass
from typing import Final

from vedette.errors import StartError
from vedette.store.engine.client import Engine


@dataclass(frozen=True, slots=True)
class Right:
    """A grant in ClickHouse syntax; `{database}` in `on` is replaced by the database's name."""

    what: str
    on: str
    why: str

    def sql(self, database: str) -> str:
        """Returns the text after GRANT or CHECK GRANT."""
        return f"{self.what} ON {self.on.format(database=database)}"


RIGHTS: Final = (
    Right("SHOW DATABASES", "default.*", "connections begin in that database"),
    Right("CREATE DATABASE, CREATE TABLE", "{database}.*", "making the tables, at every start"),
    Right("CLUSTER", "*.*", "doing so on all servers at once"),
    Right("TABLE ENGINE", "Distributed", "the tables that stand for all shards"),
    Right("SELECT, INSERT, SHOW", "{database}.*", "reading and writing"),
    Right("CREATE TEMPORARY TABLE", "*.*", "inserts that end with the lease of their server"),
    Right("SELECT", "system.columns", "types of columns, for the same"),
    Right("ALTER DELETE", "{database}.*", "unmounting and deleting partitions"),
    Right("ALTER ADD COLUMN", "{database}.*", "upgrading tables of an older version"),
    Right(
        "ALTER ADD INDEX, ALTER MATERIALIZE INDEX, ALTER SETTINGS",
        "{database}.*",
        "indexes of tables and partitions that have none yet",
    ),
    Right("OPTIMIZE", "{database}.*", "merging what came last before a pause"),
    Right("READ", "REMOTE", "reading projections and system tables of all servers"),
    Right("SELECT", "system.clusters", "how many shards there are"),
    Right("SELECT", "system.parts", "sizes of partitions"),
    Right("SELECT", "system.mutations", "whether indexes are made"),
    Right("SELECT", "system.detached_parts", "unmounted partitions"),
    Right("SELECT", "system.tables", "where parts lie"),
    Right("SELECT", "system.processes", "cancelling searches"),
    Right("SELECT", "system.disks", "free space, for retention"),
)
"""Grants for a cluster; the embedded engine's user has all rights."""


def grants(database: str, user: str) -> list[str]:
    """Returns the statements that grant a user all of `RIGHTS`."""
    return [f"GRANT {right.sql(database)} TO {user}" for right in RIGHTS]


def check_rights(engine: Engine) -> None:
    """Raises StartError with the missing GRANT statements."""
    wanted = [right.sql(engine.database) for right in RIGHTS]
    missing = [f"GRANT {sql}" for sql in wanted if not _is_granted(engine, sql)]
    if missing:
        statements = "; ".join(missing)
        raise StartError(f"the user of the ClickHouse cluster lacks rights: {statements}")


def _is_granted(engine: Engine, sql: str) -> bool:
    return bool(int(engine.query(f"CHECK GRANT {sql}").rows[0][0]))
