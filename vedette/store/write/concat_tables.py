"""Concatenates the tables that several workers produced for one commit."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from vedette.store.engine.arrow_arrays import lists, offsets
from vedette.store.write.commit import CommitTables


def joined_tables(parts: Sequence[CommitTables]) -> CommitTables:
    """Returns the same rows; each table and each partition of `segment` is still one insert."""
    if len(parts) == 1:
        return parts[0]
    aside: dict[str, list[pa.Table]] = {}
    segments: dict[int, list[pa.Table]] = {}
    for part in parts:
        for name, rows in part.aside:
            aside.setdefault(name, []).append(rows)
        for rows in part.segments:
            segments.setdefault(rows.column("partition_ms")[0].as_py(), []).append(rows)
    return CommitTables(
        [(name, _joined(tables)) for name, tables in aside.items()],
        [_joined(segments[partition_ms]) for partition_ms in sorted(segments)],
    )


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    if len(tables) == 1:
        return tables[0]
    fields = {field.name: field for table in tables for field in table.schema}
    return pa.concat_tables(_with_all(table, fields.values()) for table in tables)


def _with_all(table: pa.Table, fields: Iterable[pa.Field]) -> pa.Table:
    """Returns the table with all of these columns in order: tables omit columns of kinds that none
    of their rows has."""
    found = set(table.column_names)
    columns = [
        table.column(field.name) if field.name in found else _empty(field.type, table.num_rows)
        for field in fields
    ]
    return pa.table(columns, schema=pa.schema(list(fields)))


def _empty(kind: pa.DataType, rows: int) -> pa.Array:
    """Returns a column of empty lists or zero counts."""
    if pa.types.is_list(kind):
        return lists(pa.array([], kind.value_type), offsets(0 for _ in range(rows)))
    return pa.array([0] * rows, kind)
