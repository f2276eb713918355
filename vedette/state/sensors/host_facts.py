"""Facts about hosts that alerts copy."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, select

from vedette.limits import Limit
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.policy.group_options import options_of

SENSORS_LOOKED_UP_MAX: Limit[int] = 900
"""Sensors in one statement."""


@dataclass(frozen=True, slots=True)
class HostFacts:
    """A sensor and its group in their current state."""

    sensor_id: int
    hostname: str
    group: str
    os_type: str
    interface_ip: str
    criticality: int
    """Criticality of alerts in the group, 1 to 5."""


def host_facts(connection: Connection, sensor_ids: Collection[int]) -> dict[int, HostFacts]:
    """Maps sensor id to facts for those sensors that exist."""
    ids = sorted(set(sensor_ids))
    found: dict[int, HostFacts] = {}
    for start in range(0, len(ids), SENSORS_LOOKED_UP_MAX):
        some = ids[start : start + SENSORS_LOOKED_UP_MAX]
        rows = connection.execute(
            select(
                SENSOR.c.id,
                SENSOR.c.hostname,
                GROUP.c.name,
                SENSOR.c.os_type,
                SENSOR.c.interface_ip,
                GROUP.c.options,
            )
            .join(GROUP, SENSOR.c.group_id == GROUP.c.id)
            .where(SENSOR.c.id.in_(some))
        )
        for sensor_id, hostname, group, os_type, address, options in rows:
            criticality = options_of(options).alert_criticality
            found[sensor_id] = HostFacts(sensor_id, hostname, group, os_type, address, criticality)
    return found
