"""A time partition as a value, and its name (docs/api-objects.md#time-partition)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

State = Literal["hot", "warm", "cold", "deleted"]

WRITER = "writer"
"""The name of the hot partition in the API."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A time partition. `opened_ms` is its key; `closed_ms` is 0 for the hot partition."""

    opened_ms: int
    closed_ms: int
    state: State
    user_mounted: bool
    byte_count: int
    row_count: int
    part_count: int
    directory: str

    @property
    def name(self) -> str:
        return WRITER if self.state == "hot" else partition_name(self.opened_ms)


def partition_name(opened_ms: int) -> str:
    """Returns the name of a partition by its opening time; partitions open at least a second
    apart."""
    return _instant(opened_ms).strftime("events_%Y_%m_%d_%H%M%S")


def time_text(time_ms: int) -> str:
    """Returns a time in epoch milliseconds as ISO 8601 with microseconds, UTC."""
    return _instant(time_ms).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _instant(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1_000, UTC)
