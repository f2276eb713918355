"""The columns of a stored process that the API shows, and the start time that is derived from an
id."""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.columns import EVENT_KINDS
from vedette.model.ids import FILETIME_EPOCH_US
from vedette.store.sql.column_lists import KNOWN

Row = Mapping[str, Any]
"""A process or segment as column name -> value (`model/columns.py`): times in epoch microseconds,
addresses as 16 bytes."""

UNKNOWN_LAST_US: Final = 1 << 62
"""Sort key for an unknown start when processes are ordered by start."""

COUNTED: Final = tuple(kind.name for kind in EVENT_KINDS if kind.counted)
"""Kinds of events with a list and a count, in the order of docs/api-objects.md#process."""

COUNT_COLUMNS: Final = tuple(f"{kind}_count" for kind in COUNTED)

PROCESS_COLUMNS: Final = tuple(
    name for name in KNOWN if name not in {"host_clock", "creation_observed", "tampered"}
)
"""Metadata columns of a process object, without keys, update times and counts."""


def time_in_id_us(process_id: str, before_us: int) -> int:
    """Returns the time embedded in a process id made of pid and start, in epoch microseconds; 0 if
    it is not before `before_us`.

    This is an estimate: other ids hold other numbers there, so it is never shown as a start.
    """
    filetime = process_id[19:36].replace("-", "")
    try:
        from_id_us = int(filetime, 16) // 10 - FILETIME_EPOCH_US
    except ValueError:
        return 0
    return from_id_us if 0 < from_id_us < before_us else 0
