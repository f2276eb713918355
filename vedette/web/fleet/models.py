"""Formats the sensor object of the API (docs/api-objects.md#sensor), with the types that clients
parse (docs/clients.md#sensor-records).

Sizes, uptimes and counts are numeric strings; unknown values are null, "" or 0, never absent. A
host that only a log shipper reports has no sensor program: its version, health and sizes are
unknown, and its check-in is the time of its last record. Members beyond docs/api-objects.md: gaps
in the sensor's uploads, and the number of enrollments by another machine under its name.
"""

from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from vedette.limits import Limit
from vedette.state.sensors.sensor_row import SensorRow, is_online

NEXT_CHECKIN_US: Limit[int] = 30 * 1_000_000
"""Microseconds added to the last check-in for `next_checkin_time`, if the sensor has none."""


NO_LICENSE_EXPIRATION = "1990-01-01 00:00:00+00:00"
"""License expiration of a sensor without one."""

UNKNOWN_MAC = "000000000000"

_OS_CODES = {"windows": 1, "osx": 2, "linux": 3}
_OS_NAMES = {"windows": "Windows", "osx": "macOS", "linux": "Linux"}

_FIXED: dict[str, Any] = {
    "build_id": 0,
    "cookie": 0,
    "display": True,
    "emet_dump_flags": "",
    "emet_exploit_action": "",
    "emet_is_gpo": False,
    "emet_process_count": 0,
    "emet_report_setting": "",
    "emet_telemetry_path": "",
    "emet_version": "",
    "license_expiration": NO_LICENSE_EXPIRATION,
    "node_id": 0,
    "parity_host_id": "0",
    "shard_id": 0,
    "supports_2nd_gen_modloads": False,
    "supports_cblr": False,
}
"""Members without a source: of other systems, or of features that this server lacks."""


def sensor_body(row: SensorRow, now_us: int) -> dict[str, Any]:
    """Returns the record of `GET /api/v1/sensor` and `/api/v2/sensor`."""
    return _FIXED | _identity(row) | _standing(row, now_us) | _report(row)


def status_of(row: SensorRow, now_us: int) -> str:
    """Returns Online, Offline, Uninstall Pending or Uninstalled."""
    if row.uninstalled_us:
        return "Uninstalled"
    if row.uninstall:
        return "Uninstall Pending"
    return "Online" if is_online(row, now_us) else "Offline"


def _identity(row: SensorRow) -> dict[str, Any]:
    return {
        "computer_dns_name": row.hostname,
        "computer_name": row.computer_name,
        "computer_sid": row.computer_sid,
        "group_id": row.group_id,
        "id": row.id,
        "os_environment_display_string": row.os_version or _OS_NAMES.get(row.os_type, ""),
        "os_environment_id": _OS_CODES.get(row.os_type, 0),
        "os_type": _OS_CODES.get(row.os_type, 0),
        "reenrolled": row.reenrolled,
        "reenrolment": _reenrolment(row),
        "registration_time": _time(row.first_seen_us),
        "shares_name": row.shares_name,
    }


def _reenrolment(row: SensorRow) -> str:
    """Returns the state of an enrollment under the host's name that needs approval, "" without
    one."""
    if not row.reenrol_us:
        return ""
    return "approved" if row.reenrol_approved_us else "pending"


def _standing(row: SensorRow, now_us: int) -> dict[str, Any]:
    """Returns the members for pending orders and current state."""
    return {
        "event_log_flush_time": _known_time(row.flush_us),
        "is_isolating": row.is_isolating,
        "isolation_by": row.isolation_by,
        "isolation_expires": _known_time(row.isolation_expires_us),
        "isolation_reason": row.isolation_reason,
        "isolation_since": _known_time(row.isolation_since_us),
        "last_checkin_time": _known_time(row.last_seen_us),
        "last_update": _known_time(row.last_seen_us),
        "missing_blocks": row.missing_blocks,
        "network_isolation_enabled": row.network_isolation_enabled,
        "next_checkin_time": _time(row.next_checkin_us or row.last_seen_us + NEXT_CHECKIN_US),
        "notes": row.notes,
        "restart_queued": row.restart_queued,
        "sequence_gaps": row.sequence_gaps,
        "status": status_of(row, now_us),
        "supports_isolation": row.has_sensor,
        "uninstall": row.uninstall,
        "uninstalled": True if row.uninstalled_us else None,
    }


def _report(row: SensorRow) -> dict[str, Any]:
    """Returns the members from the sensor's last check-in."""
    address = f"{row.interface_ip},{UNKNOWN_MAC}|" if row.interface_ip else ""
    return {
        "boot_id": _boot_number(row.boot_id),
        "build_version_string": row.sensor_version,
        "clock_delta": str(row.clock_delta_s),
        "network_adapters": row.network_adapters or address,
        "num_eventlog_bytes": str(row.eventlog_bytes),
        "num_storefiles_bytes": str(row.storefiles_bytes),
        "physical_memory_size": str(row.memory_bytes),
        "power_state": row.power_state,
        "sensor_health_message": row.health_message,
        "sensor_health_status": row.health_status if row.has_health else None,
        "sensor_uptime": str(row.sensor_uptime_s),
        "systemvolume_free_size": str(row.volume_free_bytes),
        "systemvolume_total_size": str(row.volume_total_bytes),
        "uptime": str(row.uptime_s),
    }


def queued_body(row: SensorRow) -> list[dict[str, Any]]:
    """Returns queue sizes on the host at its last check-in, in a single row as cbapi expects."""
    if not row.checkin_us:
        return []
    return [
        {
            "id": str(row.id),
            "sensor_id": row.id,
            "num_eventlogs": str(int(row.eventlog_bytes > 0)),
            "num_eventlog_bytes": str(row.eventlog_bytes),
            "num_storefiles": str(int(row.storefiles_bytes > 0)),
            "num_storefile_bytes": str(row.storefiles_bytes),
            "timestamp": _time(row.checkin_us),
        }
    ]


def activity_body(row: SensorRow) -> list[dict[str, Any]]:
    """Returns the last check-in as an activity."""
    if not row.checkin_us:
        return []
    return [
        {
            "id": str(row.id),
            "sensor_id": row.id,
            "is_isolating": row.is_isolating,
            "uptime": str(row.uptime_s),
            "sensor_uptime": str(row.sensor_uptime_s),
            "missing_blocks": str(row.missing_blocks),
            "timestamp": _time(row.checkin_us),
        }
    ]


def resource_body(row: SensorRow) -> list[dict[str, Any]]:
    """Returns memory, disk and health of the host at its last check-in."""
    if not row.checkin_us:
        return []
    return [
        {
            "id": str(row.id),
            "sensor_id": row.id,
            "physical_memory_size": str(row.memory_bytes),
            "systemvolume_free_size": str(row.volume_free_bytes),
            "systemvolume_total_size": str(row.volume_total_bytes),
            "health_status": row.health_status if row.has_health else None,
            "health_message": row.health_message,
            "timestamp": _time(row.checkin_us),
        }
    ]


def _boot_number(boot_id: str) -> str:
    """Converts the random boot id of Linux to a number, which clients expect."""
    if not boot_id or boot_id.isdecimal():
        return boot_id or "0"
    return str(crc32(boot_id.encode()))


def _known_time(time_us: int) -> str | None:
    """Like `_time`; returns None for 0, an unknown time."""
    return _time(time_us) if time_us else None


def _time(time_us: int) -> str:
    """Formats a time with the server's time zone, as `2018-02-06 12:44:33.883886-06:00`."""
    seconds, micros = divmod(time_us, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros).astimezone()
    return moment.isoformat(sep=" ", timespec="microseconds")
