"""osquery's configuration: event tables by operating system, and the paths to watch.

Hashes come with the processes, by a join with `hash`; `process_file_events` has the process that
wrote a file, `file_events` the hashes of its content.
"""

from collections.abc import Collection
from typing import Any, Final

from vedette import limits

Config = dict[str, Any]

_HASHED: Final = (
    "SELECT e.*, h.md5, h.sha256 FROM {table} e "
    "LEFT JOIN hash h ON h.path = e.path AND e.path != ''"
)

_SCHEDULES: Final[dict[str, tuple[tuple[str, str, int], ...]]] = {
    "linux": (
        ("process_events", _HASHED.format(table="process_events"), 10),
        ("socket_events", "SELECT * FROM socket_events", 10),
        ("process_file_events", "SELECT * FROM process_file_events", 10),
        ("file_events", "SELECT * FROM file_events", 60),
        ("user_events", "SELECT * FROM user_events", 60),
    ),
    "osx": (
        ("es_process_events", "SELECT * FROM es_process_events", 10),
        ("es_process_file_events", "SELECT * FROM es_process_file_events", 10),
        ("socket_events", "SELECT * FROM socket_events", 10),
        ("file_events", "SELECT * FROM file_events", 60),
    ),
    "windows": (
        ("process_etw_events", _HASHED.format(table="process_etw_events"), 10),
        ("dns_lookup_events", "SELECT * FROM dns_lookup_events", 10),
        ("windows_events", "SELECT * FROM windows_events", 10),
        ("file_events", "SELECT * FROM ntfs_journal_events", 60),
    ),
}
"""Name, query and seconds between two runs."""

_KINDS: Final = {
    "process_events": "processes",
    "es_process_events": "processes",
    "process_etw_events": "processes",
    "socket_events": "netconns",
    "dns_lookup_events": "netconns",
    "process_file_events": "filemods",
    "es_process_file_events": "filemods",
    "file_events": "filemods",
    "user_events": "usercontext",
}
"""The option `collect_*` of a group that a query belongs to."""

_PATHS: Final[dict[str, dict[str, list[str]]]] = {
    "linux": {
        "system": ["/etc/%%", "/usr/bin/%%", "/usr/sbin/%%", "/usr/local/bin/%%"],
        "temporary": ["/tmp/%%", "/var/tmp/%%", "/dev/shm/%%"],  # noqa: S108 - watched, not used
        "homes": ["/root/.ssh/%%", "/home/%/.ssh/%%"],
    },
    "osx": {
        "launch": ["/Library/LaunchAgents/%%", "/Library/LaunchDaemons/%%"],
        "homes": ["/Users/%/Library/LaunchAgents/%%", "/Users/%/.ssh/%%"],
    },
    "windows": {"temporary": [r"C:\Windows\Temp\%%", r"C:\Users\%\AppData\Local\Temp\%%"]},
}

_OPTIONS: Final[Config] = {
    "disable_events": False,
    "disable_audit": False,
    "audit_allow_config": True,
    "audit_allow_process_events": True,
    "audit_allow_sockets": True,
    "audit_allow_fim_events": True,
    "disable_endpointsecurity": False,
    "disable_endpointsecurity_fim": False,
    "enable_process_etw_events": True,
    "enable_dns_lookup_events": True,
    "enable_windows_events_publisher": True,
    "enable_windows_events_subscriber": True,
    "enable_ntfs_event_publisher": True,
    "events_expiry": 3600,
    "logger_tls_period": 10,
    "distributed_interval": 30,
    "config_refresh": limits.OSQUERY_CHECKIN_S,
}


def config_for(os_type: str, not_collected: Collection[str] = ()) -> Config:
    """The configuration for windows, osx or linux, without the queries of the kinds of events that
    the group does not collect."""
    schedule = _SCHEDULES.get(os_type, _SCHEDULES["linux"])
    paths = _PATHS.get(os_type, {})
    return {
        "options": _OPTIONS,
        "schedule": {
            name: {"query": query, "interval": interval_s, "removed": False}
            for name, query, interval_s in schedule
            if _KINDS.get(name) not in not_collected
        },
        "file_paths": paths,
        "file_accesses": list(paths) if os_type == "linux" else [],
        "decorators": {"load": ["SELECT hostname FROM system_info"]},
    }
