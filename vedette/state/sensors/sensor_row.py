"""A sensor in the form of the database, and its online state."""

from dataclasses import dataclass

from vedette import limits


@dataclass(frozen=True, slots=True)
class SensorRow:
    """A sensor as the database stores it."""

    id: int
    hostname: str
    computer_name: str
    group_id: int
    group_name: str
    os_type: str
    interface_ip: str
    first_seen_us: int
    last_seen_us: int
    network_isolation_enabled: bool
    is_isolating: bool
    restart_queued: bool
    uninstall: bool
    notes: str | None
    host_type: str = ""
    """workstation, server, domain_controller, or "" if not reported."""
    enrolled_us: int = 0
    has_sensor: bool = False
    """Whether Vedette's own sensor, which takes orders, is enrolled there."""
    shares_name: bool = False
    """Whether another sensor of the group has the same short name."""
    reenrolled: int = 0
    reenrol_us: int = 0
    """Time of the enrolment that awaits approval; 0: none."""
    reenrol_approved_us: int = 0
    checkin_us: int = 0
    next_checkin_us: int = 0
    sensor_version: str = ""
    boot_id: str = ""
    clock_delta_s: int = 0
    uptime_s: int = 0
    sensor_uptime_s: int = 0
    health_status: int = 0
    health_message: str = ""
    eventlog_bytes: int = 0
    storefiles_bytes: int = 0
    volume_total_bytes: int = 0
    volume_free_bytes: int = 0
    memory_bytes: int = 0
    network_adapters: str = ""
    power_state: int = 0
    utc_offset_min: int = 0
    os_version: str = ""
    kernel: str = ""
    computer_sid: str = ""
    sequence_gaps: int = 0
    missing_blocks: int = 0
    flush_us: int = 0
    uninstalled_us: int = 0
    liveresponse_init: bool = False
    isolation_reason: str = ""
    """Reason given for the isolation; "" for none."""
    isolation_by: str = ""
    isolation_since_us: int = 0
    isolation_expires_us: int = 0
    """Time at which the isolation ends automatically; 0: never."""

    @property
    def has_health(self) -> bool:
        """Whether a sensor reported its health; only Vedette's own sensor does."""
        return self.has_sensor and self.checkin_us > 0


def is_online(row: SensorRow, now_us: int) -> bool:
    """Whether fewer than `SENSOR_CHECKINS_MISSED` intervals have passed since the last check-in.
    For a host that only shippers report, whether its last record is newer than
    `SENSOR_ONLINE_US`."""
    if row.enrolled_us and row.checkin_us:
        interval_us = row.next_checkin_us - row.checkin_us
        return now_us - row.checkin_us < limits.SENSOR_CHECKINS_MISSED * interval_us
    return now_us - row.last_seen_us < limits.SENSOR_ONLINE_US
