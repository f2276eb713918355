"""Converts Python values to Arrow arrays, typed as in `model/columns.py`.

A value that does not fit its type (a lone surrogate, a number out of range) is replaced, so that it
does not fail its batch; this slow path runs only after an exception.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

import vedette.store.engine.arrow_memory  # noqa: F401 - before the first array
from vedette.model.columns import Column, ColumnType
from vedette.model.event import UNKNOWN_IP

TYPES: dict[ColumnType, pa.DataType] = {
    "text": pa.string(),
    "u8": pa.uint8(),
    "u16": pa.uint16(),
    "u32": pa.uint32(),
    "u64": pa.uint64(),
    "i32": pa.int32(),
    "time": pa.int64(),
    "ip": pa.binary(16),
}

TIMESTAMP = pa.timestamp("us", "UTC")

UNKNOWN: dict[ColumnType, str | int | bytes] = {
    "text": "",
    "u8": 0,
    "u16": 0,
    "u32": 0,
    "u64": 0,
    "i32": 0,
    "time": 0,
    "ip": UNKNOWN_IP,
}
"""The default value of a column."""

LARGEST: dict[ColumnType, int] = {
    "u8": 2**8 - 1,
    "u16": 2**16 - 1,
    "u32": 2**32 - 1,
    "u64": 2**64 - 1,
    "i32": 2**31 - 1,
    "time": 2**63 - 1,
}


def array(values: Sequence[Any], kind: ColumnType) -> pa.Array:
    """Returns the values of one column as an array; times are epoch microseconds."""
    try:
        made = pa.array(values, TYPES[kind])
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        made = pa.array([_fitting(value, kind) for value in values], TYPES[kind])
    return made.view(TIMESTAMP) if kind == "time" else made


def columns_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> dict[str, pa.Array]:
    """Returns one array per column; missing values become `UNKNOWN`. Converting rows to one struct
    array takes half the time of converting column by column."""
    members = pa.struct([(column.name, TYPES[column.type]) for column in columns])
    try:
        made = pa.array(rows, members)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return {
            column.name: array(
                [row.get(column.name, UNKNOWN[column.type]) for row in rows], column.type
            )
            for column in columns
        }
    return {
        column.name: _filled(made.field(number), column.type)
        for number, column in enumerate(columns)
    }


def _filled(made: pa.Array, kind: ColumnType) -> pa.Array:
    if made.null_count:
        made = made.fill_null(pa.scalar(UNKNOWN[kind], TYPES[kind]))
    return made.view(TIMESTAMP) if kind == "time" else made


def offsets(lengths: Iterable[int]) -> pa.Array:
    """Returns the list offsets of rows with these lengths: one more than there are rows."""
    return pa.array(accumulate(lengths, initial=0), pa.int32())


def lists(flat: pa.Array, starts: pa.Array) -> pa.Array:
    """Returns a list array from a flat array and its `offsets`."""
    return pa.ListArray.from_arrays(starts, flat)


def packed(table: pa.Table) -> bytes:
    """Returns a table in Arrow IPC stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpacked(data: bytes) -> pa.Table:
    """Reads a table written by `packed`, without copying."""
    return pa.ipc.open_stream(data).read_all()


def _fitting(value: Any, kind: ColumnType) -> str | int | bytes:
    match value:
        case str() if kind == "text":
            return value.encode(errors="replace").decode()
        case bytes() if kind == "ip" and len(value) == 16:
            return value
        case int() if kind in LARGEST:
            return max(0, min(value, LARGEST[kind]))
        case _:
            return UNKNOWN[kind]
