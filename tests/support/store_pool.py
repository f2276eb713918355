"""Stores of tests that are used again: one that a test leaves with its tables as they were made is
emptied, which takes a tenth of the time of making another."""

from tests.support.copied_tables import copy_tables, fill_tables
from vedette.store.engine.capabilities import Capabilities
from vedette.store.engine.client import ClickHouseEngine

_TABLES = """
    SELECT name, cityHash64(create_table_query), merges AND ifNull(total_rows, 0) > 0,
        engine LIKE '%MergeTree' AS merges
    FROM system.tables WHERE database = {database:String} ORDER BY name
"""
_DETACHED = "SELECT count() FROM system.detached_parts WHERE database = {database:String}"


class StorePool:
    """Databases of one engine, each lent to one test at a time."""

    def __init__(self, root: ClickHouseEngine) -> None:
        self._root = root
        self._made = 0
        self._free: dict[str, list[str]] = {}
        self._definitions: dict[str, list[tuple[str, int]]] = {}

    def take(self, capabilities: Capabilities) -> ClickHouseEngine:
        """An empty store; what `create_tables` makes."""
        free = self._free.setdefault(repr(capabilities), [])
        if free:
            return self._root.sibling(free.pop(), capabilities)
        self._made += 1
        engine = self._root.sibling(f"test_{self._made}", capabilities)
        copy_tables(engine, self._root.database)
        found = self._tables(engine.database)
        self._definitions[engine.database] = [(name, made) for name, made, _, _ in found]
        return engine

    def give_back(self, engine: ClickHouseEngine) -> None:
        """Closes a store; its database is emptied and kept, or dropped when a test changed it."""
        engine.close()
        database = engine.database
        found = self._tables(database)
        made = [(name, definition) for name, definition, _, _ in found]
        detached = self._root.query(_DETACHED, {"database": database}).rows[0][0]
        if made != self._definitions[database] or detached:
            self._root.command(f"DROP DATABASE {database} SYNC")
            del self._definitions[database]
            return
        for name, _, holds_rows, merges in found:
            if holds_rows:
                self._root.command(f"TRUNCATE TABLE {database}.`{name}` SYNC")
            if merges:
                self._root.command(f"SYSTEM START MERGES {database}.`{name}`")
        with_tables = self._root.sibling(database, engine.capabilities)
        fill_tables(with_tables, self._root.database)
        with_tables.close()
        self._free[repr(engine.capabilities)].append(database)

    def _tables(self, database: str) -> list[tuple[str, int, bool, bool]]:
        rows = self._root.query(_TABLES, {"database": database}).rows
        return [(name, made, bool(full), bool(merges)) for name, made, full, merges in rows]
