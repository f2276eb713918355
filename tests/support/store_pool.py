"""Stores of tests that are used again: one that a test leaves with its tables as they were made is
emptied, which takes a tenth of the time of making another."""

import time
from dataclasses import dataclass

from tests.support.copied_tables import copy_tables, fill_tables
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import ClickHouseEngine

_TABLES = """
    SELECT name, toString(uuid), toUnixTimestamp(metadata_modification_time),
        merges AND ifNull(total_rows, 0) > 0, engine LIKE '%MergeTree' AS merges
    FROM system.tables WHERE database = {database:String} ORDER BY name
"""
_DEFINITIONS = """
    SELECT cityHash64(groupArray((name, create_table_query))) FROM
    (SELECT * FROM system.tables WHERE database = {database:String} ORDER BY name)
"""
"""Writing all definitions takes the engine ten times as long as looking when they changed."""

_DETACHED = "SELECT count() FROM system.detached_parts WHERE database = {database:String}"


@dataclass
class _Made:
    """A database as it was made."""

    changed_s: list[tuple[str, str, int]]
    """Each table's name and id, and when its definition changed last."""
    definitions: int
    lent_s: int = 0


class StorePool:
    """Databases of one engine, each lent to one test at a time."""

    def __init__(self, root: ClickHouseEngine) -> None:
        self._root = root
        self._count = 0
        self._free: dict[str, list[str]] = {}
        self._made: dict[str, _Made] = {}

    def take(self, capabilities: Capabilities) -> ClickHouseEngine:
        """An empty store; what `create_tables` makes."""
        free = self._free.setdefault(repr(capabilities), [])
        if free:
            name = free.pop()
            self._made[name].lent_s = int(time.time())
            return self._root.sibling(name, capabilities)
        self._count += 1
        engine = self._root.sibling(f"test_{self._count}", capabilities)
        copy_tables(engine, self._root.database)
        found = [row[:3] for row in self._tables(engine.database)]
        self._made[engine.database] = _Made(found, self._definitions(engine.database))
        return engine

    def give_back(self, engine: ClickHouseEngine) -> None:
        """Closes a store; its database is emptied and kept, or dropped when a test changed it."""
        engine.close()
        database = engine.database
        found = self._tables(database)
        detached = self._root.query(_DETACHED, {"database": database}).rows[0][0]
        if detached or self._is_changed(database, [row[:3] for row in found]):
            self._root.command(f"DROP DATABASE {database} SYNC")
            del self._made[database]
            return
        for name, _, _, holds_rows, merges in found:
            if holds_rows:
                self._root.command(f"TRUNCATE TABLE {database}.`{name}` SYNC")
            if merges:
                self._root.command(f"SYSTEM START MERGES {database}.`{name}`")
        with_tables = self._root.sibling(database, engine.capabilities)
        fill_tables(with_tables, self._root.database)
        with_tables.close()
        self._free[repr(engine.capabilities)].append(database)

    def _is_changed(self, database: str, changed_s: list[tuple[str, str, int]]) -> bool:
        made = self._made[database]
        if changed_s != made.changed_s:
            return True
        # What changed in the very second in which it was made does not show there.
        is_certain = all(made.lent_s > second for _, _, second in changed_s)
        return not is_certain and self._definitions(database) != made.definitions

    def _definitions(self, database: str) -> int:
        found: int = self._root.query(_DEFINITIONS, {"database": database}).rows[0][0]
        return found

    def _tables(self, database: str) -> list[tuple[str, str, int, bool, bool]]:
        rows = self._root.query(_TABLES, {"database": database}).rows
        return [(name, key, at_s, bool(full), bool(can)) for name, key, at_s, full, can in rows]
