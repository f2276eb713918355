"""A time partition as a value, its name, and its shape in the API (api.md 2.23)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

State = Literal["hot", "warm", "cold", "deleted"]

WRITER = "writer"
"""The name of the hot partition in the API."""


@dataclass(frozen=True, slots=True)
class Partition:
    """`opened_ms` is the partition's key; `closed_ms` is 0 for the hot one."""

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
    """The name of a partition by its opening time; partitions open at least a second apart."""
    return _instant(opened_ms).strftime("events_%Y_%m_%d_%H%M%S")


def partition_body(partition: Partition) -> dict[str, Any]:
    """A partition in the API's shape; row counts of cold ones are not known."""
    info: dict[str, Any] = {
        "sizeInBytes": partition.byte_count,
        "startDate": time_text(partition.opened_ms),
        "endDate": time_text(partition.closed_ms) if partition.closed_ms else None,
        "partitionId": partition.opened_ms // 1_000 << 16,
        "userMounted": partition.user_mounted,
        "isLegacy": False,
        "segmentCount": partition.part_count,
        "dir": partition.directory,
        "schema": "vedette_v1",
    }
    if partition.state != "cold":
        rows = {"deletedDocs": 0, "maxDoc": partition.row_count, "numDocs": partition.row_count}
        info |= rows
    return {"name": partition.name, "status": partition.state, "info": info}


def time_text(time_ms: int) -> str:
    """A time in epoch milliseconds as ISO 8601 with microseconds, UTC."""
    return _instant(time_ms).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _instant(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1_000, UTC)
