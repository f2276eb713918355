"""Inserts that the engine refuses after a given time, no matter when they were sent.

A server that owns hosts only for the time of a lease must not store any of their rows later, even
if it was paused in the middle of sending. So the engine itself compares its clock with the end of
the lease when it has received the rows. The rows are read as for a plain insert.
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
    """Runs such inserts; caches the column types of tables. Thread-safe."""

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
        if not known.keys() >= set(names):  # new columns, or another server has added some
            rows = client.query(_COLUMNS, parameters={"name": table}).result_rows
            known = self._types[table] = dict(rows)
        sink = pa.BufferOutputStream()
        with pa.RecordBatchFileWriter(sink, data.schema) as writer:
            writer.write(data)
        # The text before FORMAT takes the place of the table name.
        client.raw_insert(
            fenced(table, names, known, until_us), None, sink.getvalue(), settings, "Arrow"
        )


def fenced(table: str, names: Sequence[str], types: Mapping[str, str], until_us: int) -> str:
    """Returns the text between INSERT INTO and FORMAT. `until_us` is rounded down to whole
    seconds."""
    columns = ", ".join(f"`{name}`" for name in names)
    structure = ", ".join(f"`{name}` {types[name]}" for name in names)
    quoted = structure.replace("\\", "\\\\").replace("'", "\\'")
    until_s = until_us // 1_000_000
    return (
        f"`{table}` ({columns}) SELECT {columns} FROM input('{quoted}') "
        f"WHERE throwIf(nowInBlock() >= toDateTime({until_s:d}), '{REFUSED}') = 0"
    )
