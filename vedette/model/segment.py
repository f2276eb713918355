"""Rows of a commit, before they become columns.

`fold` fills one `Draft` a process, the segment assigner makes `PartialSegment` rows of it, the
store writes them; the engine merges partial rows with the same key into the whole segment.
"""

from typing import Any

from msgspec import Struct, field

from vedette.model.event import ProcessEvent


class Draft(Struct, gc=False):
    """What one batch adds to one process."""

    process_id: str
    sensor_id: int
    facts: dict[str, Any] = field(default_factory=dict)
    """Metadata columns of this batch, merged by rank, with rank columns."""
    events: dict[str, list[Any]] = field(default_factory=dict)
    """Event values by name of their kind, in the order they came."""
    last_update_us: int = 0
    record_keys: list[int] = field(default_factory=list)
    """`channel code << 48 | record id` of the source records behind these events."""
    request_keys: list[int] = field(default_factory=list)
    """64-bit keys of the requests that brought records without an id of their own."""

    def event_count(self) -> int:
        return sum(map(len, self.events.values()))


class PartialSegment(Struct, gc=False):
    """One partial row. `metadata` holds every known column of `columns.METADATA`."""

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


class Correction(Struct, gc=False):
    """Metadata that replaces what stored segments of a process have, where its rank is not lower.

    `values` holds every column of `metadata_rank.RANK_COLUMN_OF` and all rank columns.
    """

    partition_ms: int
    sensor_id: int
    process_id: str
    windows: list[int]
    """Starts of the windows that have segments of the process in the partition."""
    values: dict[str, Any]
