"""Time partitions (docs/api-objects.md#time-partition)."""

from datetime import UTC, datetime
from typing import Any

from vedette.store.partitions.partition import Partition


def partition_body(partition: Partition) -> dict[str, Any]:
    """A partition; the rows of cold ones are unknown and left out."""
    info: dict[str, Any] = {
        "sizeInBytes": partition.byte_count,
        "startDate": _iso(partition.opened_ms),
        "endDate": _iso(partition.closed_ms) if partition.closed_ms else None,
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


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
