"""Writes versions of alerts: as complete rows, or with one statement for all alerts that a
condition selects.

A writer derives a new version of an alert from the previous one, so writers must exclude each other
with `Database.exclusive(ALERT_WRITERS)`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from vedette.model.findings.alert import ALERT_COLUMNS, ALERT_MAPS, ALERT_TEXTS, AlertRow
from vedette.store.engine.arrow_arrays import columns_of
from vedette.store.engine.client import Engine

ALERT_WRITERS: Final = "alerts"


def write_alerts(engine: Engine, rows: Sequence[AlertRow], until_us: int | None = None) -> None:
    """Writes versions of alerts; durable on return. The store refuses them after `until_us`, epoch
    us by its clock. Raises UnavailableError."""
    if rows:
        engine.insert_arrow("alert", alert_table(rows), until_us)


def alert_table(rows: Sequence[AlertRow]) -> pa.Table:
    """Returns a table with the rows of `alert`; missing values are empty."""
    columns = columns_of(
        [
            {column.name: row[column.name] for column in ALERT_COLUMNS if column.name in row}
            for row in rows
        ],
        ALERT_COLUMNS,
    )
    for name in ALERT_TEXTS:
        texts = [list(map(_text, row.get(name, ()))) for row in rows]
        columns[name] = pa.array(texts, pa.list_(pa.string()))
    for name in ALERT_MAPS:
        pairs = [_pairs(row.get(name, {})) for row in rows]
        columns[name] = pa.array(pairs, pa.map_(pa.string(), pa.string()))
    return pa.table(columns)


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(_text(key), _text(value)) for key, value in values.items()]


def _text(value: str) -> str:
    """Replaces lone surrogates, which have no UTF-8 encoding."""
    return value if value.isascii() else value.encode(errors="replace").decode()
