"""Stores of tests that are used again: one that a test leaves with its tables as they were made is
emptied, which takes a tenth of the time of making another. Its clients are used again, too: opening
one takes the engine longer than most questions do."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tests.support.copied_tables import FILLED, copy_tables, fill_tables
from tests.support.two_shards import NAMES, TWO_SHARDS, check_placed, routed
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

_FILLED = f"""
    SELECT table, name, hash_of_all_files FROM system.parts
    WHERE database = {{database:String}} AND active AND table IN {FILLED} ORDER BY ALL
"""
"""The data of the tables that are not empty in a new store."""

_DETACHED = "SELECT count() FROM system.detached_parts WHERE database = {database:String}"


@dataclass
class _Made:
    """A database as it was made."""

    changed_s: list[tuple[str, str, int]]
    """Each table's name and id, and when its definition changed last."""
    definitions: int
    filled: "list[tuple[str, str, str]]" = field(default_factory=list)
    lent_s: int = 0
    kind: str = ""
    clients: "list[_Client]" = field(default_factory=list)
    """Idle clients of the store."""
    are_merges_stopped: bool = False
    keeps_clients: bool = False
    """While a store is closed: a client that is closed before has failed."""

    @property
    def has_two_shards(self) -> bool:
        return TWO_SHARDS in self.kind

    def end(self) -> None:
        while self.clients:
            self.clients.pop().end()


class _Client:
    """A client of a store's database, kept when the store is closed."""

    def __init__(self, opened: Any, store: _Made) -> None:
        self._opened = opened
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def command(self, sql: str, *arguments: Any, **named: Any) -> Any:
        self._store.are_merges_stopped |= "STOP MERGES" in sql
        return self._opened.command(sql, *arguments, **named)

    def insert_arrow(self, table: str, rows: pa.Table, **named: Any) -> Any:
        self._check_placed(table, rows, named["settings"])
        return self._opened.insert_arrow(table, rows, **named)

    def raw_insert(
        self, table: str, names: None, rows: bytes, settings: Any, format_name: str
    ) -> Any:
        self._check_placed(table.split("`")[1], pa.ipc.open_file(rows).read_all(), settings)
        return self._opened.raw_insert(table, names, rows, settings, format_name)

    def _check_placed(self, table: str, rows: pa.Table, settings: Mapping[str, Any]) -> None:
        if self._store.has_two_shards:
            check_placed(table, rows, settings)

    def close(self) -> None:
        if self._store.keeps_clients:
            self._store.clients.append(self)
        else:
            self.end()

    def end(self) -> None:
        self._opened.close()


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
            return self._engine(name, capabilities)
        database = self._unused_name(capabilities)
        with_tables = routed(self._root.sibling(database, capabilities))
        copy_tables(with_tables, self._root.database)
        with_tables.close()
        found = [row[:3] for row in self._tables(database)]
        self._made[database] = _Made(
            found, self._definitions(database), self._filled(database), kind=repr(capabilities)
        )
        return self._engine(database, capabilities)

    def _unused_name(self, capabilities: Capabilities) -> str:
        if capabilities.cluster == TWO_SHARDS:
            return next(name for name in NAMES if name not in self._made)
        self._count += 1
        return f"test_{self._count}"

    def _engine(self, database: str, capabilities: Capabilities) -> ClickHouseEngine:
        return routed(ClickHouseEngine(self._client, database, capabilities))

    def _client(self, database: str) -> Any:
        made = self._made.get(database)
        if made is None:  # another database that a test has made
            return self._root.open_client(database)
        return (
            made.clients.pop() if made.clients else _Client(self._root.open_client(database), made)
        )

    def close(self) -> None:
        """Ends the clients of stores that nobody has."""
        for made in self._made.values():
            made.end()

    def give_back(self, engine: ClickHouseEngine) -> None:
        """Closes a store; its database is emptied and kept, or dropped when a test changed it."""
        self._close(engine)
        database = engine.database
        found = self._tables(database)
        detached = self._root.query(_DETACHED, {"database": database}).rows[0][0]
        if detached or self._is_changed(database, [row[:3] for row in found]):
            self._root.command(f"DROP DATABASE {database} SYNC")
            self._made.pop(database).end()
            return
        is_filled = self._filled(database) == self._made[database].filled
        for name, _, _, holds_rows, merges in found:
            if holds_rows and not (is_filled and name in FILLED):
                self._root.command(f"TRUNCATE TABLE {database}.`{name}` SYNC")
            if merges and self._made[database].are_merges_stopped:
                self._root.command(f"SYSTEM START MERGES {database}.`{name}`")
        self._made[database].are_merges_stopped = False
        if not is_filled:
            with_tables = self._engine(database, engine.capabilities)
            fill_tables(with_tables, self._root.database)
            self._close(with_tables)
            self._made[database].filled = self._filled(database)
        self._free[self._made[database].kind].append(database)

    def _close(self, engine: ClickHouseEngine) -> None:
        made = self._made[engine.database]
        made.keeps_clients = True
        engine.close()
        made.keeps_clients = False

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

    def _filled(self, database: str) -> list[tuple[str, str, str]]:
        rows = self._root.query(_FILLED, {"database": database}).rows
        return [(table, name, content) for table, name, content in rows]

    def _tables(self, database: str) -> list[tuple[str, str, int, bool, bool]]:
        rows = self._root.query(_TABLES, {"database": database}).rows
        return [(name, key, at_s, bool(full), bool(can)) for name, key, at_s, full, can in rows]
