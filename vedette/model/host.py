"""Sensors (the reporting programs) and the hosts they stand for, as values."""

from dataclasses import dataclass
from typing import Final

UTC_CLOCK: Final = 1_441
"""The column `host_clock` of a host in UTC: minutes ahead of UTC are added to it, so that what
is known is never 0, which is unknown and read as UTC (metadata merges by the greatest value)."""


def minutes_ahead(host_clock: int) -> int:
    """Minutes that local time is ahead of UTC, of a value of the column `host_clock`."""
    return host_clock - UTC_CLOCK if host_clock else 0


@dataclass(frozen=True, slots=True)
class SensorRef:
    """What the write path needs to know of a sensor."""

    id: int
    hostname: str
    """Full host name, lower case: the key of a sensor (docs/http-api.md)."""
    group_id: int
    group_name: str
    os_type: str
    """windows, linux or osx; "" until a record says so."""
    utc_offset_min: int = 0
    """Minutes that the host's local time is ahead of UTC; 0 until the sensor reports it."""
    takes_filters: bool = False
    """Whether the sensor is a program of ours that applies `filter_on_sensor` filters itself."""
    host_type: str = ""
    """workstation, server or domain_controller, as the sensor says; "" until it does."""
    addresses: str = ""
    """Addresses of the network interfaces, separated by `|`, as the sensor or osquery reported
    them; "" for hosts without an enrolled program."""
    computer_sid: str = ""
    """SID of the host, "" until a program or a record reports it."""
    network_adapters: str = ""
    """`addresses` with their hardware addresses (docs/api-objects.md#sensor)."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What the first records of a host say about it."""

    os_type: str = ""
    """windows, linux, osx; "" when the records do not say."""


@dataclass(frozen=True, slots=True)
class HostProcess:
    """A process as a host's learned context needs it; times in epoch microseconds."""

    sensor_id: int
    process_id: str
    pid: int
    start_us: int
    end_us: int
    path: str
    md5: str
    sha256: str
    username: str
    parent_id: str
