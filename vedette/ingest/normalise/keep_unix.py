"""Default selection of Linux and macOS records that are stored for detection.

Applies only to records that yield no process event: logins, accounts, services, policies,
anomalies.
"""

WHOLE: tuple[str, ...] = (
    "file_events",
    "hardware_events",
    "user_events",
    "yara_events",
    "santa",
    "tetragon",  # the user chooses the probes
    "web_access",  # the user chooses which text logs to send
    "iis_access",
    "apache_error",
    "nginx_error",
    "sshd",
    "sudo",
    "auth",
    "cron",
    "clamav",
    "vsftpd",
    "guacamole",
    "syslog",
    "kubernetes_audit",
    "opencanary",
)
"""Channels stored completely."""

_AUDIT = (
    (1100, 1102, 1105, 1106, 1108, 1112, 1113, 1123, 1124),  # authentication, sessions, sudo
    (1114, 1115, 1116, 1117, 1132),  # accounts and groups
    (1127, 1128, 1129, 1130, 1131),  # boot and services
    (1200, 1201, 1202, 1203, 1305),  # the audit system itself
    (1319, 1321, 1322, 1325, 1326, 1331, 1334),  # terminals, capabilities, packet filter, bpf
    (1400, 1401, 1403, 1404, 1405),  # mandatory access control
    (1700, 1701, 1702, 1805, 2100, 2114, 2115, 2116, 2117, 2500),  # anomalies
)

_ENDPOINT_SECURITY = (
    (18, 22, 23),  # kernel extensions, mounts
    (*range(111, 144), 145, 146),  # logins, sessions, launch items, accounts, policies
)

IDS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("auditd", tuple(event_id for group in _AUDIT for event_id in group)),
    ("es", tuple(event_id for group in _ENDPOINT_SECURITY for event_id in group)),
)
"""Event ids stored from channels that are too large to store completely."""
