"""All that is known of a process beside its events (api.md 2.10)."""

from datetime import UTC, datetime
from typing import Any, Final

from vedette.model.address import signed_int32
from vedette.model.host import minutes_ahead
from vedette.model.ids import unique_id
from vedette.model.scope import Scope
from vedette.search.bodies.process import Body, Row, parent_members, start_us
from vedette.search.bodies.wire_values import instant
from vedette.search.processes.not_found import unknown_process, with_parent
from vedette.store.engine.client import Engine
from vedette.store.read.process_metadata import process_row

_OF_PARENT: Final = ("parent_name", "parent_pid", "parent_md5")
_SHOWN: Final = (
    *("hostname", "group", "os_type", "host_type", "interface_ip", "comms_ip", "host_clock"),
    *("process_name", "path", "process_md5", "process_sha256", "process_pid", "cmdline"),
    *("username", "uid", "logon_type", "start", "creation_observed", "tampered"),
    *("parent_id", *_OF_PARENT),
)


def metadata(engine: Engine, scope: Scope, process_id: str) -> Body:
    """`process_metadata` of a process over all its segments. Raises NotFoundError."""
    known = process_row(engine, process_id, scope, _SHOWN, ())
    if known is None:
        raise unknown_process(process_id)
    row = with_parent(engine, scope, known, _OF_PARENT)
    return {"process_metadata": _names(row) | _host(row) | _run(row) | _times(row) | _flags(row)}


def _names(row: Row) -> dict[str, Any]:
    parent = parent_members(row)
    return {
        "id": row["process_id"],
        "unique_id": unique_id(row["process_id"], row["segment_id"]),
        "segment_id": row["segment_id"],
        "facet_id": 0,
        **{name: parent[name] for name in ("parent_id", "parent_unique_id", "parent_name")},
        **{name: parent[name] for name in ("parent_pid", "parent_md5")},
    }


def _host(row: Row) -> dict[str, Any]:
    return {
        "sensor_id": row["sensor_id"],
        "hostname": row["hostname"],
        "group": row["group"],
        "os_type": row["os_type"],
        "host_type": row["host_type"] or "workstation",
        "interface_ip": signed_int32(row["interface_ip"]),
        "comms_ip": signed_int32(row["comms_ip"]),
    }


def _run(row: Row) -> dict[str, Any]:
    return {
        "process_name": row["process_name"],
        "path": row["path"],
        "process_md5": row["process_md5"],
        "process_sha256": row["process_sha256"],
        "process_pid": _listed(row["process_pid"]),
        "cmdline": _listed(row["cmdline"]),
        "username": _listed(row["username"]),
        "uid": row["uid"],
        "logon_type": row["logon_type"],
    }


def _times(row: Row) -> dict[str, Any]:
    """Weekday (0 is Sunday) and hour of the start are those of the host's clock, and null when
    no start is known."""
    began_us = start_us(row)
    local_s = began_us // 1_000_000 + 60 * minutes_ahead(row["host_clock"])
    began = datetime.fromtimestamp(local_s, UTC) if began_us else None
    return {
        "start": instant(began_us),
        "day_of_week": None if began is None else began.isoweekday() % 7,
        "hour_of_day": None if began is None else began.hour,
        "last_update": instant(row["last_update"]),
        "last_server_update": instant(row["last_server_update"]),
        "server_added_timestamp": instant(row["first_server_update"]),
    }


def _flags(row: Row) -> dict[str, Any]:
    return {
        "terminated": bool(row["terminated"]),
        "creation_observed": bool(row["creation_observed"]),
        "tampered": bool(row["tampered"]),
        "filtering_known_dlls": False,
        "has_emet_event": False,
        "has_emet_config": False,
    }


def _listed(value: Any) -> list[Any]:
    return [value] if value else []
