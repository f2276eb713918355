"""The sensor object of the API (api.md 2.17), in the types that clients parse (clients.md 4.8).

Sizes, uptimes and counts are numeric text; what is not known is null, "" or 0, never absent.
A host that only a log shipper reports for has no sensor program of ours: its versions, health
and sizes stay unknown, and its check-in is the last time that it was heard of.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from vedette import limits
from vedette.state.sensor_list import DAY_US, SensorRow

CHECKIN_INTERVAL_US = 30 * 1_000_000
"""What `next_checkin_time` adds to the last one."""

NO_LICENSE_EXPIRATION = "1990-01-01 00:00:00+00:00"
"""What real servers answer where no licence limits a sensor."""

UNKNOWN_MAC = "000000000000"

_OS_CODES = {"windows": 1, "osx": 2, "linux": 3}
_OS_NAMES = {"windows": "Windows", "osx": "macOS", "linux": "Linux"}

_UNKNOWN: dict[str, Any] = {
    "boot_id": "0",
    "build_id": 0,
    "build_version_string": "",
    "clock_delta": "0",
    "computer_sid": "",
    "cookie": 0,
    "display": True,
    "emet_dump_flags": "",
    "emet_exploit_action": "",
    "emet_is_gpo": False,
    "emet_process_count": 0,
    "emet_report_setting": "",
    "emet_telemetry_path": "",
    "emet_version": "",
    "event_log_flush_time": None,
    "license_expiration": NO_LICENSE_EXPIRATION,
    "node_id": 0,
    "num_eventlog_bytes": "0",
    "num_storefiles_bytes": "0",
    "parity_host_id": "0",
    "physical_memory_size": "0",
    "power_state": 0,
    "sensor_health_message": "",
    "sensor_health_status": 0,
    "sensor_uptime": "0",
    "shard_id": 0,
    "supports_2nd_gen_modloads": False,
    "supports_cblr": False,
    "supports_isolation": False,
    "systemvolume_free_size": "0",
    "systemvolume_total_size": "0",
    "uninstalled": None,
    "uptime": "0",
}
"""Fields that only a sensor's own report could fill."""


def sensor_body(row: SensorRow, now_us: int) -> dict[str, Any]:
    """A sensor as `GET /api/v1/sensor` and `/api/v2/sensor` show it."""
    is_online = now_us - row.last_seen_us < limits.SENSOR_ONLINE_US
    return _UNKNOWN | {
        "computer_dns_name": row.hostname,
        "computer_name": row.computer_name,
        "group_id": row.group_id,
        "id": row.id,
        "is_isolating": row.is_isolating,
        "last_checkin_time": _time(row.last_seen_us),
        "last_update": _time(row.last_seen_us),
        "network_adapters": f"{row.interface_ip},{UNKNOWN_MAC}|" if row.interface_ip else "",
        "network_isolation_enabled": row.network_isolation_enabled,
        "next_checkin_time": _time(row.last_seen_us + CHECKIN_INTERVAL_US),
        "notes": row.notes,
        "os_environment_display_string": _OS_NAMES.get(row.os_type, ""),
        "os_environment_id": _OS_CODES.get(row.os_type, 0),
        "os_type": _OS_CODES.get(row.os_type, 0),
        "registration_time": _time(row.first_seen_us),
        "restart_queued": row.restart_queued,
        "status": "Online" if is_online else "Offline",
        "uninstall": row.uninstall,
    }


def statistics_body(rows: Sequence[SensorRow], now_us: int) -> dict[str, Any]:
    """Counts over sensors (api.md 2.18). Backlogs are what sensors report at check-in: none."""
    active = sum(now_us - row.last_seen_us < DAY_US for row in rows)
    return {
        "sensor_count": len(rows),
        "active_sensor_count": active,
        "num_eventlog_bytes": "0",
        "num_storefile_bytes": "0",
        "num_storefiles_bytes": "0",
    }


def _time(time_us: int) -> str:
    """Server-local time with its zone, as in `2018-02-06 12:44:33.883886-06:00`."""
    seconds, micros = divmod(time_us, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros).astimezone()
    return moment.isoformat(sep=" ", timespec="microseconds")
