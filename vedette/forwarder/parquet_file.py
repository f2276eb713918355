"""Writes records as a Parquet file with a column for each member of the outermost object.

The name of a column determines its type, so that it is the same in all files: programs that read
many files refuse files with different types. Members that are not named here become text: lists and
objects are JSON, and times are written as in JSON.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from vedette.forwarder.delivery import Content
from vedette.forwarder.json_text import json_of
from vedette.model.columns import EVENT_KINDS
from vedette.model.event_words import SAID_IN_WORDS

PARQUET: Final = "application/vnd.apache.parquet"

_NUMBER, _FLAG, _TEXT = pa.int64(), pa.bool_(), pa.string()
_ALERT_NUMBERS: Final = ("severity", "device_id", "count")
_EVENT_NUMBERS: Final = (
    "process_pid",
    "parent_pid",
    *(
        f"{kind.name}_{name}"
        for kind in EVENT_KINDS
        for name, column in kind.fields
        if column in ("u8", "u16", "u32", "u64") and (kind.name, name) not in SAID_IN_WORDS
    ),
)
_OCSF_NUMBERS: Final = (
    "category_uid",
    "class_uid",
    "activity_id",
    "type_uid",
    "severity_id",
    "time",
    "status_id",
    "disposition_id",
    "rcode_id",
    "action_id",
)
_FLAGS: Final = ("is_updated", "alert_notes_present", "threat_notes_present", "is_alert")

COLUMN_TYPES: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys((*_ALERT_NUMBERS, *_EVENT_NUMBERS, *_OCSF_NUMBERS), _NUMBER),
    **dict.fromkeys(_FLAGS, _FLAG),
}
"""Types of the members that are not text."""


class ParquetBody:
    """The `FileBody` for Parquet."""

    def __init__(self) -> None:
        self._records: list[dict[str, Any]] = []

    def add(self, record: dict[str, Any]) -> int:
        self._records.append(record)
        return len(json_of(record))

    def close(self) -> Content:
        names = dict.fromkeys(name for one in self._records for name in one)
        columns = {name: _column(name, [one.get(name) for one in self._records]) for name in names}
        file = io.BytesIO()
        pq.write_table(pa.table(columns), file, compression="zstd")
        return Content(file.getvalue(), PARQUET, ".parquet")


def _column(name: str, values: Sequence[Any]) -> pa.Array:
    if (kind := COLUMN_TYPES.get(name)) is not None:
        return pa.array(values, kind)
    return pa.array([_text(value) for value in values], _TEXT)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    return json_of(value).decode()
