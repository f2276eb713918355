"""Applies corrections of process metadata to stored segments.

Partial rows merge by `max`. That is wrong where a better source (`model/metadata_rank.py`) gives a
smaller value, or none, after a greater one was stored. The segment assigner writes such a change
as a row of `correction`, in the same commit as its partial rows; until it is applied, some
seconds, searches still find the older value. Applying is a mutation of the partition that holds
the process: parts without the process are linked, not copied, and the rows of a process that has
just begun lie in small parts.

Each value is guarded by the rank that the stored row has, so corrections can be applied in any
order and again after a crash.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from vedette.limits import (
    CORRECTED_PROCESSES_MAX,
    CORRECTION_STATEMENT_BYTES,
    CORRECTION_TEXT_CHARS,
)
from vedette.model.columns import CORRECTED, Column
from vedette.model.metadata_rank import RANK_COLUMN_OF
from vedette.store.engine.client import Engine

_TYPES: Mapping[str, str] = {"text": "String", "u32": "UInt32", "u64": "UInt64", "time": "Int64"}
_VALUES = ", ".join(f"`{column.name}`" for column in CORRECTED)
_WAIT = 2
"""`mutations_sync`: until all replicas are done."""


def apply_corrections(engine: Engine) -> int:
    """Applies stored corrections, at most `CORRECTED_PROCESSES_MAX` processes of one partition at
    once; returns how many rows of `correction` were applied, after the segments have changed."""
    applied = 0
    while rows := _bounded(_next_rows(engine)):
        engine.command(_mutation(engine, rows))
        _remove(engine, rows)
        applied += len(rows)
    return applied


def _next_rows(engine: Engine) -> list[dict[str, Any]]:
    """Corrections of one partition. That there are none, as nearly always, is asked first: the
    engine takes ten times as long to understand the question for all their columns."""
    first = engine.query("SELECT minOrNull(partition_ms) FROM correction").rows[0][0]
    if first is None:
        return []
    return engine.query(
        f"SELECT partition_ms, sensor_id, process_id, windows, seq, {_VALUES} FROM correction "
        "WHERE partition_ms = {first:UInt64} ORDER BY process_id, seq LIMIT {most:UInt32}",
        {"first": first, "most": CORRECTED_PROCESSES_MAX},
    ).dicts()


def _bounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows whose text fits into a statement, at least one."""
    size = 0
    for number, row in enumerate(rows):
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if size > CORRECTION_TEXT_CHARS and number:
            return rows[:number]
    return rows


def newest_corrections(engine: Engine, process_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Values of corrections that are not applied yet, by process, as the segments will have
    them."""
    found = engine.query(
        f"SELECT process_id, {_VALUES} FROM correction "
        "WHERE process_id IN {ids:Array(String)} ORDER BY seq",
        {"ids": list(process_ids)},
    )
    return {row.pop("process_id"): row for row in found.dicts()}


def _mutation(engine: Engine, rows: list[dict[str, Any]]) -> str:
    newest = _merged(rows)
    ids = _array("String", map(itemgetter("process_id"), newest))
    changes = ", ".join(_change(column, ids, newest) for column in CORRECTED)
    windows = sorted({window for row in rows for window in row["windows"]})
    sensors = sorted({row["sensor_id"] for row in rows})
    capabilities = engine.capabilities
    return (
        f"ALTER TABLE `{capabilities.storage('segment')}`{capabilities.on_cluster} "
        f"UPDATE {changes} IN PARTITION ID '{rows[0]['partition_ms']:d}' "
        f"WHERE window_ms IN ({', '.join(map(str, windows))}) "
        f"AND sensor_id IN ({', '.join(map(str, sensors))}) AND has({ids}, process_id) "
        f"SETTINGS mutations_sync = {_WAIT:d}, max_query_size = {CORRECTION_STATEMENT_BYTES:d}"
    )


def _merged(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a process: every group from the row with the highest rank."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        merged = found.setdefault(row["process_id"], dict(row))
        for column in CORRECTED:
            rank = RANK_COLUMN_OF.get(column.name, "")
            if rank and row[rank] >= merged[rank]:
                merged[column.name] = row[column.name]
        for rank in set(RANK_COLUMN_OF.values()):
            merged[rank] = max(merged[rank], row[rank])
    return list(found.values())


def _change(column: Column, ids: str, rows: list[dict[str, Any]]) -> str:
    """`column = ...` for the processes of `rows`, for rows of `segment` without a higher rank."""
    name = f"`{column.name}`"
    rank = RANK_COLUMN_OF.get(column.name, column.name)
    at = f"indexOf({ids}, process_id)"
    ranks = _array("UInt64", (row[rank] for row in rows))
    if rank == column.name:
        return f"{name} = greatest({name}, {ranks}[{at}])"
    value = f"{_array(_TYPES[column.type], (row[column.name] for row in rows))}[{at}]"
    if column.type == "time":
        value = f"fromUnixTimestamp64Micro({value}, 'UTC')"
    return f"{name} = if(`{rank}` <= {ranks}[{at}], {value}, {name})"


def _array(kind: str, values: Iterable[Any]) -> str:
    """A constant array, as one literal: the engine takes milliseconds for an expression of
    hundreds. Text is written as hexadecimal digits, because the engine stores a mutation as text
    and does not take bound values there."""
    if kind == "String":
        digits = ",".join(value.encode().hex() for value in values)
        return f"arrayMap(one -> unhex(one), splitByChar(',', '{digits}'))"
    return f"splitByChar(',', '{','.join(f'{value:d}' for value in values)}')::Array({kind})"


def _remove(engine: Engine, rows: list[dict[str, Any]]) -> None:
    """Deletes corrections that are applied; corrections of later commits stay."""
    capabilities = engine.capabilities
    pairs = ", ".join(
        f"(unhex('{row['process_id'].encode().hex()}'), {row['seq']:d})" for row in rows
    )
    engine.command(
        f"ALTER TABLE `{capabilities.storage('correction')}`{capabilities.on_cluster} "
        f"DELETE WHERE partition_ms = {rows[0]['partition_ms']:d} "
        f"AND (process_id, seq) IN ({pairs}) SETTINGS mutations_sync = {_WAIT:d}"
    )
