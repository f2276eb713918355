"""Writes the values read from the bytes of files. A newer reading replaces an older one."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from vedette.model.columns import READING, Column
from vedette.store.engine.arrow_arrays import columns_of
from vedette.store.engine.client import Engine

_COLUMNS: Final = (
    Column("hash", "text"),
    Column("sensor_id", "u32"),
    Column("read_at", "time"),
    Column("is_added", "u8"),
    *READING,
)


def write_readings(engine: Engine, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes rows with the columns of `READING`, the key and `read_at`; durable on return."""
    if rows:
        engine.insert_arrow("binary_reading", pa.table(columns_of(rows, _COLUMNS)))
