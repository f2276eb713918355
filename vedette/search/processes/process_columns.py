"""Which columns of a stored process the API shows, and the one value that is derived from them."""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.columns import EVENT_KINDS
from vedette.model.ids import FILETIME_EPOCH_US
from vedette.store.read.column_lists import KNOWN

Row = Mapping[str, Any]
"""A process or one of its segments by column name (`model/columns.py`): times in epoch
microseconds, addresses as 16 bytes."""

COUNTED: Final = tuple(kind.name for kind in EVENT_KINDS if kind.counted)
"""Kinds of events with a list and a count, in the order of api.md 2.1."""

COUNT_COLUMNS: Final = tuple(f"{kind}_count" for kind in COUNTED)

PROCESS_COLUMNS: Final = tuple(
    name for name in KNOWN if name not in {"host_clock", "creation_observed", "tampered"}
)
"""Metadata columns of a process object, without keys, times of updates and counts."""


def start_us(row: Row) -> int:
    """Start of a process in epoch microseconds. Where no record has it, the time that is part of
    the process id; 0 when that is not a plausible time either."""
    if row["start"]:
        return int(row["start"])
    filetime = row["process_id"][19:36].replace("-", "")
    try:
        from_id_us = int(filetime, 16) // 10 - FILETIME_EPOCH_US
    except ValueError:
        return 0
    return from_id_us if 0 < from_id_us < row["last_update"] else 0
