"""A process segment as the API shows it (api.md 2.1, 2.4, 2.10; clients.md 4.1).

Rows come from the store by column name (`model/columns.py`): times as epoch microseconds,
addresses as 16 bytes. Every member that clients read is always there and has its type: they call
string methods on `username`, parse `start` strictly, and unpack addresses as signed 32-bit
numbers. What only this server knows follows under its column's name, when it is known.
"""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.address import signed_int32
from vedette.model.columns import EVENT_KINDS
from vedette.model.ids import names_process, start_of_process_id, unique_id, unknown_parent_id
from vedette.search.bodies.wire_values import instant
from vedette.store.read.column_lists import KNOWN

Row = Mapping[str, Any]
Body = dict[str, Any]

UNKNOWN_PARENT_NAME: Final = "(unknown)"
UNKNOWN_PARENT_PID: Final = -1
UNKNOWN_PARENT_MD5: Final = "0" * 30
"""Thirty zeros, not 32: what clients see for a parent without a hash (clients.md 4.1)."""

COUNTED: Final = tuple(kind.name for kind in EVENT_KINDS if kind.counted)
"""Kinds of events with a list and a count, in the order of api.md 2.1."""

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
"""Columns shown under their own names when they are known."""


BODY_COLUMNS: Final = tuple(
    name for name in KNOWN if name not in {"host_clock", "creation_observed", "tampered"}
)
"""Metadata that `process_body` shows, beside keys, times of updates and counts."""


def process_body(row: Row) -> Body:
    """The process object of search results and summaries."""
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
        "start": instant(start_us(row)),
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
        "filtering_known_dlls": False,
        "event_partition_id": [partition_number(row["partition_ms"])],
    }
    body |= parent_members(row)
    body |= {f"{kind}_count": row[f"{kind}_count"] for kind in COUNTED}
    body |= {name: row[name] for name in _KNOWN_EXTRAS if row[name]}
    if row["end_time"]:
        body["end"] = instant(row["end_time"])
    return body


def parent_members(row: Row) -> Body:
    """What a process says of its parent; stand-ins where nothing is known of it."""
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
    """The parent's summary, as far as its child knows it: for a parent without a row."""
    known = parent_members(row)
    sensor_id = row["sensor_id"]
    told = {"process_id": known["parent_id"], "start": 0, "last_update": row["last_update"]}
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
        "start": instant(start_us(told)),
        "last_update": instant(0),
        "sensor_id": sensor_id,
        "hostname": row["hostname"],
        "group": row["group"],
        "os_type": row["os_type"],
        "host_type": row["host_type"] or "workstation",
        "terminated": False,
    } | _no_grandparent(sensor_id)


def child_body(row: Row, is_suppressed: bool = False) -> Body:
    """An item of `children`: the process, and whether it is a suppressed one (api.md 2.6)."""
    return process_body(row) | {"is_suppressed": is_suppressed}


def start_us(row: Row) -> int:
    """When a process started; read from its id where no record says it, 0 where that fails too."""
    if row["start"]:
        return int(row["start"])
    start_us = start_of_process_id(row["process_id"])
    return start_us if start_us < row["last_update"] else 0


def partition_number(partition_ms: int) -> int:
    """Id of a time partition on the wire: epoch seconds, shifted by 16 bits (clients.md 4.1)."""
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
