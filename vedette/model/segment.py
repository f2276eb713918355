"""Rows of a commit before conversion to columns.

`fold` fills one `Draft` per process. The segment assigner turns drafts into `PartialSegment` rows,
which the store writes. The engine merges partial rows with the same key into a segment.
"""

from typing import Any

from msgspec import Struct, field

from vedette.model.event import ProcessEvent


class Draft(Struct, gc=False):
    """The additions of one batch to one process."""

    process_id: str
    sensor_id: int
    facts: dict[str, Any] = field(default_factory=dict)
    """Metadata columns of this batch, merged by rank, with rank columns."""
    events: dict[str, list[Any]] = field(default_factory=dict)
    """Events by name of their kind, in order of arrival."""
    last_update_us: int = 0
    record_keys: list[int] = field(default_factory=list)
    """`channel code << 48 | record id` of the source records of these events."""
    request_keys: list[int] = field(default_factory=list)
    """64-bit keys of the requests with records that have no record id."""

    def event_count(self) -> int:
        return sum(map(len, self.events.values()))


class PartialSegment(Struct, gc=False):
    """A partial row. `metadata` holds some columns of `columns.METADATA`: of each group
    (`model/metadata_rank.py`) all known columns with the rank, or none."""

    partition_ms: int
    window_ms: int
    segment_id: int
    sensor_id: int
    process_id: str
    metadata: dict[str, Any]
    events: dict[str, list[ProcessEvent]]
    record_keys: list[int]
    request_keys: list[int]

    def event_count(self) -> int:
        return sum(map(len, self.events.values()))
