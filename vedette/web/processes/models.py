"""Formats process objects (docs/api-objects.md#process; docs/clients.md#ids-and-times).

Every member that clients read is always present with its type, except an unknown `start`, which is
null: clients call string methods on `username`, parse `start` strictly, and unpack addresses as
signed 32-bit numbers. Columns specific to this server follow under their own names if known.
"""

from typing import Any, Final

from vedette.model.address import signed_int32
from vedette.model.ids import names_process, unique_id, unknown_parent_id
from vedette.search.processes.process import FeedHits, Relative, Segments, Summary
from vedette.search.processes.process_columns import COUNTED, Row
from vedette.store.read.process import SegmentSummary
from vedette.web.json.wire_values import elapsed, instant, known_instant
from vedette.web.processes.tags_json import feed_hits, tag_members

Body = dict[str, Any]

UNKNOWN_PARENT_NAME: Final = "(unknown)"
UNKNOWN_PARENT_PID: Final = -1
UNKNOWN_PARENT_MD5: Final = "0" * 30
"""Thirty zeros instead of 32, the value that clients expect for a parent without a hash
(docs/clients.md#ids-and-times)."""

_KNOWN_EXTRAS: Final = (
    "process_sha256",
    "process_sha1",
    "uid",
    "exit_status",
    "original_filename",
    "integrity_level",
    "current_directory",
    "logon_id",
    "logon_type",
    "terminal_session_id",
    "process_guid",
    "parent_path",
    "parent_sha256",
    "parent_cmdline",
    "parent_username",
)
"""Columns that appear under their own names if known."""


def process_body(row: Row) -> Body:
    """Returns the process object of search results and summaries."""
    process_id, segment_id = row["process_id"], row["segment_id"]
    body = {
        "id": process_id,
        "segment_id": segment_id,
        "unique_id": unique_id(process_id, segment_id),
        "process_name": row["process_name"],
        "process_pid": row["process_pid"],
        "process_md5": row["process_md5"],
        "path": row["path"],
        "cmdline": row["cmdline"],
        "username": row["username"],
        "start": known_instant(row["start"]),
        "last_update": instant(row["last_update"]),
        "last_server_update": instant(row["last_server_update"]),
        "terminated": bool(row["terminated"]),
        "sensor_id": row["sensor_id"],
        "hostname": row["hostname"],
        "group": row["group"],
        "os_type": row["os_type"],
        "host_type": row["host_type"] or "workstation",
        "comms_ip": signed_int32(row["comms_ip"]),
        "interface_ip": signed_int32(row["interface_ip"]),
        "emet_config": "",
        "emet_count": 0,
        "filtering_known_dlls": bool(row["filtering_known_dlls"]),
        "event_partition_id": [partition_number(row["partition_ms"])],
    }
    body |= parent_members(row)
    body |= {f"{kind}_count": row[f"{kind}_count"] for kind in COUNTED}
    body |= {name: row[name] for name in _KNOWN_EXTRAS if row[name]}
    if row["end_time"]:
        body["end"] = instant(row["end_time"])
    return body | tag_members(row)


def parent_members(row: Row) -> Body:
    """Returns the parent members of a process object; placeholders for an unknown parent."""
    is_known = names_process(row["parent_id"])
    parent_id = row["parent_id"] or unknown_parent_id(row["sensor_id"])
    return {
        "parent_id": parent_id,
        "parent_unique_id": unique_id(parent_id, 1),
        "parent_name": row["parent_name"] or UNKNOWN_PARENT_NAME,
        "parent_pid": row["parent_pid"] if is_known else UNKNOWN_PARENT_PID,
        "parent_md5": row["parent_md5"] or UNKNOWN_PARENT_MD5,
    }


def parent_body(row: Row) -> Body:
    """Returns the summary of a parent without records, from the parent columns of its child."""
    known = parent_members(row)
    sensor_id = row["sensor_id"]
    return {
        "id": known["parent_id"],
        "segment_id": 1,
        "unique_id": known["parent_unique_id"],
        "process_name": known["parent_name"],
        "process_pid": known["parent_pid"],
        "process_md5": known["parent_md5"],
        "path": row["parent_path"],
        "cmdline": row["parent_cmdline"],
        "username": row["parent_username"],
        "start": None,
        "sensor_id": sensor_id,
        "hostname": row["hostname"],
        "group": row["group"],
        "os_type": row["os_type"],
        "host_type": row["host_type"] or "workstation",
        "terminated": False,
    } | _no_grandparent(sensor_id)


def relative_body(relative: Relative) -> Body:
    """Returns an item of `siblings` or `children` (docs/api-objects.md#process-events)."""
    return process_body(relative.row) | {"is_suppressed": relative.is_suppressed}


def summary_body(summary: Summary) -> Body:
    """Returns the process with its relatives (v1). `parent` is empty if the parent is unknown,
    which clients take as the end of the chain."""
    parent: Body = {}
    if summary.parent is not None:
        parent = process_body(summary.parent)
    elif summary.has_parent:
        parent = parent_body(summary.row)
    return {
        "process": process_body(summary.row),
        "parent": parent,
        "siblings": [relative_body(one) for one in summary.siblings],
        "children": [relative_body(one) for one in summary.children],
    }


def segments_body(segments: Segments) -> Body:
    """Returns a list of segments (docs/api-objects.md#segment-list)."""
    items = [_segment_item(segments.process_id, one) for one in segments.segments]
    return {"process": {"segments": items}, "elapsed": elapsed(segments.elapsed_s)}


def feed_hits_body(hits: FeedHits) -> Body:
    return {"alliance_hits": feed_hits(hits.tags), "elapsed": elapsed(hits.elapsed_s)}


def partition_number(partition_ms: int) -> int:
    """Returns the API's id of a time partition: epoch seconds shifted left by 16 bits
    (docs/clients.md#ids-and-times)."""
    return partition_ms // 1_000 << 16


def _no_grandparent(sensor_id: int) -> Body:
    nobody = unknown_parent_id(sensor_id)
    return {
        "parent_id": nobody,
        "parent_unique_id": unique_id(nobody, 1),
        "parent_name": UNKNOWN_PARENT_NAME,
        "parent_pid": UNKNOWN_PARENT_PID,
        "parent_md5": UNKNOWN_PARENT_MD5,
    }


def _segment_item(process_id: str, segment: SegmentSummary) -> dict[str, Any]:
    return {
        "unique_id": unique_id(process_id, segment.segment_id),
        "segment_id": segment.segment_id,
        "last_update": instant(segment.last_update),
        "last_server_update": instant(segment.last_server_update),
        "event_counts": {kind: segment.counts[kind] for kind in COUNTED},
    }
