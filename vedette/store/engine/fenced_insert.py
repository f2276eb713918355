"""Inserts that the engine refuses after a time, whenever they were sent.

A server that has hosts only for the time of a lease must not store anything of theirs later, also
when it was stopped in the middle of sending. So the engine itself compares its clock with the end
of the lease, when it has the rows. The rows are read as they are for a plain insert.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from vedette.store.engine.errors import REFUSED

_COLUMNS: Final = (
    "SELECT name, type FROM system.columns "
    "WHERE database = currentDatabase() AND table = {name:String}"
)


class FencedInserts:
    """Makes such inserts; remembers the types of the columns of tables. Thread-safe."""

    def __init__(self) -> None:
        self._types: dict[str, dict[str, str]] = {}

    def run(
        self,
        client: Any,
        table: str,
        data: pa.Table,
        settings: Mapping[str, str | int],
        until_us: int,
    ) -> None:
        names = data.schema.names
        known = self._types.get(table, {})
        if not known.keys() >= set(names):  # new, or another server has added columns
            rows = client.query(_COLUMNS, parameters={"name": table}).result_rows
            known = self._types[table] = dict(rows)
        sink = pa.BufferOutputStream()
        with pa.RecordBatchFileWriter(sink, data.schema) as writer:
            writer.write(data)
        # In place of the table's name stands all that comes before the format.
        client.raw_insert(
            fenced(table, names, known, until_us), None, sink.getvalue(), settings, "Arrow"
        )


def fenced(table: str, names: Sequence[str], types: Mapping[str, str], until_us: int) -> str:
    """What follows INSERT INTO and precedes FORMAT. `until_us` counts in whole seconds."""
    columns = ", ".join(f"`{name}`" for name in names)
    structure = ", ".join(f"`{name}` {types[name]}" for name in names)
    quoted = structure.replace("\\", "\\\\").replace("'", "\\'")
    until_s = until_us // 1_000_000
    return (
        f"`{table}` ({columns}) SELECT {columns} FROM input('{quoted}') "
        f"WHERE throwIf(nowInBlock() >= toDateTime({until_s:d}), '{REFUSED}') = 0"
    )
