"""Sort keys of sensors: every member of the sensor's record, for `sort.col`."""

from typing import Any

from sqlalchemy import ColumnElement, and_, case, literal, select

from vedette import limits
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_console import ISOLATION

_S = SENSOR.c

SORTS: dict[str, ColumnElement[Any]] = {
    "last_checkin_time": _S.last_seen_us,
    "last_update": _S.last_seen_us,
    "registration_time": _S.first_seen_us,
    "computer_name": _S.computer_name,
    "computer_dns_name": _S.hostname,
    "hostname": _S.hostname,
    "group_id": _S.group_id,
    "os_type": _S.os_type,
    "os_environment_id": _S.os_type,
    "os_environment_display_string": case((_S.os_version == "", _S.os_type), else_=_S.os_version),
    "network_adapters": case(
        (_S.network_adapters == "", _S.interface_ip), else_=_S.network_adapters
    ),
    "id": _S.id,
    "boot_id": _S.boot_id,
    "build_version_string": _S.sensor_version,
    "clock_delta": _S.clock_delta_s,
    "computer_sid": _S.computer_sid,
    "event_log_flush_time": _S.flush_us,
    "is_isolating": _S.is_isolating,
    **{
        f"isolation_{name}": select(ISOLATION.c[column])
        .where(ISOLATION.c.sensor_id == _S.id)
        .scalar_subquery()
        for name, column in (
            ("by", "username"),
            ("expires", "expires_us"),
            ("reason", "reason"),
            ("since", "since_us"),
        )
    },
    "missing_blocks": _S.missing_blocks,
    "network_isolation_enabled": _S.network_isolation_enabled,
    "next_checkin_time": case((_S.next_checkin_us == 0, _S.last_seen_us), else_=_S.next_checkin_us),
    "notes": _S.notes,
    "num_eventlog_bytes": _S.eventlog_bytes,
    "num_storefiles_bytes": _S.storefiles_bytes,
    "physical_memory_size": _S.memory_bytes,
    "power_state": _S.power_state,
    "reenrolled": _S.reenrolled,
    "reenrolment": case(
        (_S.reenrol_us == 0, ""), (_S.reenrol_approved_us > 0, "approved"), else_="pending"
    ),
    "restart_queued": _S.restart_queued,
    "sensor_health_message": _S.health_message,
    "sensor_health_status": _S.health_status,
    "sensor_uptime": _S.sensor_uptime_s,
    "sequence_gaps": _S.sequence_gaps,
    "status": literal(0),  # depends on the time: `sort_key`
    "supports_isolation": _S.key_sha256.is_not(None),
    "systemvolume_free_size": _S.volume_free_bytes,
    "systemvolume_total_size": _S.volume_total_bytes,
    "uninstall": _S.uninstall,
    "uninstalled": _S.uninstalled_us > 0,
    "uptime": _S.uptime_s,
    # The same for every sensor, or nearly: their order is that of the ids.
    **dict.fromkeys(
        (
            "build_id",
            "cookie",
            "display",
            "emet_dump_flags",
            "emet_exploit_action",
            "emet_is_gpo",
            "emet_process_count",
            "emet_report_setting",
            "emet_telemetry_path",
            "emet_version",
            "license_expiration",
            "node_id",
            "parity_host_id",
            "shard_id",
            "shares_name",
            "supports_2nd_gen_modloads",
            "supports_cblr",
        ),
        _S.id,
    ),
}


def sort_key(name: str, now_us: int) -> ColumnElement[Any]:
    """The expression to order by for a name of `SORTS`."""
    return _status(now_us) if name == "status" else SORTS[name]


def _status(now_us: int) -> ColumnElement[str]:
    """The status as the record shows it (`sensor_row.is_online` says when a sensor is online)."""
    deadline_us = limits.SENSOR_CHECKINS_MISSED * (_S.next_checkin_us - _S.checkin_us)
    is_checking_in = and_(_S.enrolled_us > 0, _S.checkin_us > 0)
    return case(
        (_S.uninstalled_us > 0, "Uninstalled"),
        (_S.uninstall, "Uninstall Pending"),
        (and_(is_checking_in, now_us - _S.checkin_us < deadline_us), "Online"),
        (is_checking_in, "Offline"),
        (now_us - _S.last_seen_us < limits.SENSOR_ONLINE_US, "Online"),
        else_="Offline",
    )
