"""Sensors (the reporting programs) and the hosts they stand for, as values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SensorRef:
    """What the write path needs to know of a sensor."""

    id: int
    hostname: str
    """Full host name, lower case: the key of a sensor (design.md 7)."""
    group_id: int
    group_name: str
    os_type: str
    """windows, linux or osx; "" until a record tells."""
    takes_filters: bool = False
    """Whether the sensor is a program of ours that applies `filter_on_sensor` filters itself."""
