"""Response schemas of sensors, groups, sites and installers."""

from typing import Final

from vedette.web.json.terms import (
    DIGITS,
    FLAG,
    INTEGER,
    OBJECT,
    SECONDS,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    mapping,
    nullable,
    record,
    reference,
)

_LOCAL_TIME: Final[Schema] = TEXT | {"description": "As 2026-03-04 05:06:07.000008+00:00"}

_SENSOR: Final[dict[str, Schema]] = {
    **alike(("build_id", "cookie", "emet_process_count", "node_id", "shard_id"), INTEGER),
    **alike(("group_id", "id", "os_environment_id", "os_type", "reenrolled"), INTEGER),
    **alike(("missing_blocks", "sequence_gaps", "power_state"), INTEGER),
    **alike(("display", "emet_is_gpo", "supports_2nd_gen_modloads", "supports_cblr"), FLAG),
    **alike(("is_isolating", "network_isolation_enabled", "restart_queued"), FLAG),
    **alike(("supports_isolation", "uninstall", "shares_name"), FLAG),
    "uninstalled": nullable(FLAG),
    **alike(("emet_dump_flags", "emet_exploit_action", "emet_report_setting"), TEXT),
    **alike(("emet_telemetry_path", "emet_version", "computer_dns_name", "computer_name"), TEXT),
    **alike(("computer_sid", "os_environment_display_string", "build_version_string"), TEXT),
    **alike(("network_adapters", "sensor_health_message"), TEXT),
    **alike(("isolation_reason", "isolation_by"), TEXT),
    **alike(("isolation_since", "isolation_expires"), nullable(_LOCAL_TIME)),
    "reenrolment": {"enum": ["", "pending", "approved"]},
    "status": {"enum": ["Online", "Offline", "Uninstall Pending", "Uninstalled"]},
    "notes": nullable(TEXT),
    "sensor_health_status": nullable(INTEGER),
    **alike(("license_expiration", "registration_time", "next_checkin_time"), _LOCAL_TIME),
    **alike(("last_checkin_time", "last_update"), nullable(_LOCAL_TIME)),
    "event_log_flush_time": nullable(_LOCAL_TIME),
    **alike(("parity_host_id", "boot_id", "clock_delta", "num_eventlog_bytes"), DIGITS),
    **alike(("num_storefiles_bytes", "physical_memory_size", "sensor_uptime"), DIGITS),
    **alike(("systemvolume_free_size", "systemvolume_total_size", "uptime"), DIGITS),
}

_HOST_CONFLICT: Final[Schema] = record(
    {
        "hostname": TEXT,
        "claimed_by_others": FLAG,
        "claims": listing(
            record(
                {
                    **alike(("sensor_id", "group_id"), INTEGER),
                    **alike(("hostname", "group"), TEXT),
                    **alike(("first_seen", "last_seen"), TIME),
                    **alike(("enrolled", "decided"), FLAG),
                    "owner": nullable(INTEGER),
                }
            )
        ),
    }
)

_OF_SENSOR: Final[dict[str, Schema]] = {
    "id": DIGITS,
    "sensor_id": INTEGER,
    "timestamp": _LOCAL_TIME,
}

FLEET: Final[dict[str, Schema]] = {
    "Sensor": record(_SENSOR),
    "SensorPage": record(
        {
            **alike(("total_results", "start"), INTEGER),
            "results": listing(reference("Sensor")),
            "elapsed": SECONDS,
        }
    ),
    "SensorStatistics": record(
        {
            **alike(("sensor_count", "active_sensor_count", "num_eventlog_bytes"), INTEGER),
            **alike(("num_storefile_bytes", "num_storefiles_bytes"), INTEGER),
        }
    ),
    "ChangedSensors": record(
        {
            "result": {"const": "success"},
            "dry_run": FLAG,
            "sensors": INTEGER,
            **alike(("groups", "host_types"), mapping(INTEGER)),
            "refused": listing(
                record({"id": INTEGER, **alike(("hostname", "message"), TEXT)}),
            ),
            "isolation": record(
                {
                    **alike(("online", "isolated"), INTEGER),
                    "allowed": mapping(listing(TEXT)),
                }
            ),
        },
        ("isolation",),
    ),
    "SensorQueue": record(
        _OF_SENSOR
        | alike(("num_eventlogs", "num_eventlog_bytes", "num_storefiles"), DIGITS)
        | {"num_storefile_bytes": DIGITS}
    ),
    "SensorActivity": record(
        _OF_SENSOR
        | {"is_isolating": FLAG}
        | alike(("uptime", "sensor_uptime", "missing_blocks"), DIGITS)
    ),
    "SensorEnrolment": record(
        {
            "pending": nullable(
                record(
                    {
                        "requested": TIME,
                        "approved": nullable(TIME),
                        **alike(("program", "machine_id"), TEXT),
                    }
                )
            ),
            "history": listing(
                record(
                    {
                        "timestamp": TIME,
                        **alike(("action", "program", "machine_id", "address", "username"), TEXT),
                    }
                )
            ),
        }
    ),
    "HostAlias": record({"alias": TEXT, "sensor_id": INTEGER, "hostname": TEXT}),
    "HostConflicts": record({"total": INTEGER, "results": listing(_HOST_CONFLICT)}),
    "HostConflict": _HOST_CONFLICT,
    "Builds": record(alike(("Windows", "Linux", "OSX"), listing(record({"version_string": TEXT})))),
    "NewLiveQuery": record({"id": INTEGER}),
    "LiveQuery": record(
        {
            **alike(("id", "created_us", "expires_us"), INTEGER),
            **alike(("sql", "username"), TEXT),
            "targets": listing(OBJECT),
        }
    ),
}
"""Maps component name to schema."""
