"""Settings of a sensor group, other than its name and site."""

from dataclasses import dataclass
from typing import Final

MANUAL: Final = "Manual"
"""Sensor version of a group whose sensors keep the version they have."""

LATEST: Final = "latest"
"""Sensor version, in any letter case, of a group whose sensors install whatever package is
registered."""

ORDERS_OFF: Final = "off"
ORDERS_ASKED: Final = "asked"
ORDERS_UNSIGNED: Final = "unsigned"
BINARY_ORDERS: Final = (ORDERS_OFF, ORDERS_ASKED, ORDERS_UNSIGNED)
"""Programs leave the hosts of a group never, when somebody asks for one, and by themselves too when
a program without a signature is first seen."""


@dataclass(frozen=True, slots=True)
class IsolationExclusion:
    """An address that an isolated host may still speak to."""

    name: str
    ip_address: str
    """An address, with `:port` for one port only (`[v6]:port`)."""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class EventExclusion:
    """Events that sensors of the group do not collect of programs at these paths."""

    events_to_ignore: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """The names are those of the API (docs/clients.md#aliases)."""

    sensor_exe_name: str = ""
    """Name under which the program of the sensor is installed; "" for its own."""
    address_resolution_hint: str = ""
    alert_criticality: int = 3
    tamper_level: int = 0
    sensor_version_windows: str = MANUAL
    sensor_version_osx: str = MANUAL
    sensor_version_linux: str = MANUAL
    datastore_server: str = ""
    max_licenses: int = -1
    """-1: no bound."""
    banning_enabled: bool = True
    """Whether the sensors of the group keep banned programs from starting."""
    collect_amsi: bool = False
    collect_cross_procs: bool = True
    collect_emet_events: bool = True
    collect_filemods: bool = True
    collect_filewritemd5s: bool = True
    collect_moduleinfo: bool = True
    collect_moduleloads: bool = True
    collect_netconns: bool = True
    collect_nonbinary_filewrites: bool = True
    collect_processes: bool = True
    collect_regmods: bool = True
    collect_storefiles: bool = False
    """Whether sensors send every program that is new to the server."""
    collect_usercontext: bool = True
    binary_orders: str = ORDERS_OFF
    """Whether sensors send programs that they are asked for: one of `BINARY_ORDERS`."""
    binary_quota_bytes: int = 0
    """Bytes of copies of programs that the server keeps of the group; 0: as many as fit."""
    filter_known_dlls: bool = False
    process_filter_level: int = 0
    """Which children of known programs are suppressed (docs/api-objects.md#process-events); 0:
    none."""
    quota_eventlog_bytes: int = 1 << 30
    quota_eventlog_percent: int = 1
    quota_storefile_bytes: int = 1 << 30
    quota_storefile_percent: int = 1
    server_cert_id: int = 1
    vdi_enabled: bool = False
    checkin_interval_s: int = 0
    """Seconds between two check-ins of the group's sensors; 0: the server's setting."""
    pseudonymise_users: bool = False
    """Whether names of users are stored under pseudonyms (docs/privacy.md)."""
    secret_patterns: tuple[str, ...] = ()
    """RE2 expressions for what is stored under pseudonyms in any text."""
    isolation_exclusions: tuple[IsolationExclusion, ...] = ()
    event_exclusions: tuple[EventExclusion, ...] = ()
