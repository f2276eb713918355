"""Formats time partitions (docs/api-objects.md#time-partition)."""

from datetime import UTC, datetime
from typing import Any

from vedette.store.partitions.content import Content
from vedette.store.partitions.partition import Partition


def partition_body(partition: Partition) -> dict[str, Any]:
    """Returns a partition. Row counts of cold partitions are unknown and omitted."""
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


def content_body(found: Content) -> dict[str, Any]:
    """Returns what a deletion would remove; counts of an unmounted partition are null."""
    return {
        "dry_run": True,
        **partition_body(found.partition),
        "segments": found.segments,
        "events": found.events,
        "processes": found.processes,
        "hosts": found.hosts,
        "alerts": found.alerts,
        "open_alerts": found.open_alerts,
        "days": [
            {"day": one.day, "segments": one.segments, "events": one.events} for one in found.days
        ],
    }


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
