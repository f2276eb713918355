"""osquery's configuration: event tables by operating system, watched paths, and queries about the
host itself.

Queries join `hash` to report hashes with processes. `process_file_events` has the process that
wrote a file, `file_events` the hashes of its content.
"""

from collections.abc import Collection
from typing import Any, Final

from vedette import limits
from vedette.limits import Limit
from vedette.respond.osquery_host import HOST_QUERIES, WINDOWS_QUERIES

OSQUERY_HOST_S: Limit[int] = 600
"""Interval (s) at which an osquery host reports its own properties; addresses and versions rarely
change."""


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
"""(name, query, interval in s)."""

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
"""Maps query to the group option `collect_*` that controls it."""

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
    """Returns the configuration for windows, osx or linux, without queries for kinds of events that
    the group does not collect."""
    schedule = _SCHEDULES.get(os_type, _SCHEDULES["linux"])
    of_host = HOST_QUERIES | (WINDOWS_QUERIES if os_type == "windows" else {})
    paths = _PATHS.get(os_type, {})
    return {
        "options": _OPTIONS,
        "schedule": {
            name: {"query": query, "interval": interval_s, "removed": False}
            for name, query, interval_s in schedule
            if _KINDS.get(name) not in not_collected
        }
        | {
            name: {"query": query, "interval": OSQUERY_HOST_S, "snapshot": True}
            for name, query in of_host.items()
        },
        "file_paths": paths,
        "file_accesses": list(paths) if os_type == "linux" else [],
        "decorators": {"load": ["SELECT hostname FROM system_info"]},
    }
