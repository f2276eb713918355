"""Changes of a sensor by users (docs/api-sensors.md#changing-a-sensor): orders, group, notes.

An order is refused if no sensor can carry it out, so that no user believes a host isolated that is
not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.state.db import audit_log
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_console import ISOLATION
from vedette.state.policy.name_owners import end_decisions
from vedette.state.sensors.sensor_row import SensorRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorChanges:
    """Values to set; None leaves a value unchanged. `notes` "" removes the notes, `flush_us` 0
    cancels the flush (epoch microseconds: the sensor sends all older data at once)."""

    network_isolation_enabled: bool | None = None
    restart_queued: bool | None = None
    uninstall: bool | None = None
    liveresponse_init: bool | None = None
    group_id: int | None = None
    notes: str | None = None
    flush_us: int | None = None

    def wanted(self) -> dict[str, Any]:
        """Returns the columns to set."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


_ORDERS = {
    "network_isolation_enabled": "network_isolation_enabled",
    "restart_queued": "restart_queued",
    "uninstall": "uninstall",
    "flush_us": "event_log_flush_time",
}
"""Maps order columns of a host to the API members that errors name."""


def change(
    database: Database, sensor_id: int, changes: SensorChanges, now_us: int, reason: str = ""
) -> None:
    """Writes the changes, and `reason` into the audit log.

    Raises NotFoundError; ConflictError for an order to a host whose sensor is uninstalled or never
    existed, and for a group that already has a host of the same name; BadRequestError for a group
    that does not exist.
    """
    wanted = changes.wanted()
    with database.writing() as connection:
        row = (
            connection.execute(select(SENSOR).where(SENSOR.c.id == sensor_id).with_for_update())
            .mappings()
            .first()
        )
        if row is None:
            raise NotFoundError(f"sensor {sensor_id} not found")
        new = {name: value for name, value in wanted.items() if value != row[name]}
        if changes.flush_us:  # a new order, even with the time of an earlier one
            new |= {"flush_us": changes.flush_us, "flush_number": row["flush_number"] + 1}
        _check_orders(row, new)
        if "group_id" in new:
            group = select(GROUP.c.id).where(GROUP.c.id == new["group_id"])
            if connection.scalar(group.with_for_update(read=True)) is None:
                raise BadRequestError(f"group_id: unknown sensor group {new['group_id']}")
            _check_name(connection, row, new["group_id"])
            end_decisions(connection, sensor_id, row["group_id"])
            new["changed_us"] = now_us  # the write path caches the group
        if new.get("notes") == "":
            new["notes"] = None
        if "network_isolation_enabled" in new:  # details of the previous isolation, and its end
            connection.execute(delete(ISOLATION).where(ISOLATION.c.sensor_id == sensor_id))
        if new:
            connection.execute(update(SENSOR).where(SENSOR.c.id == sensor_id).values(new))
            if reason:
                audit_log.complete(connection, "sensor", row["hostname"], {"reason": reason})


def _check_name(connection: Connection, row: RowMapping, group_id: int) -> None:
    """Raises ConflictError if the group has a host of the same name."""
    is_named = (SENSOR.c.hostname == row["hostname"]) & (SENSOR.c.group_id == group_id)
    if connection.scalar(select(SENSOR.c.id).where(is_named)) is not None:
        raise ConflictError(
            f"group_id: sensor group {group_id} has a host {row['hostname']} of its own"
        )


def check_orders(row: SensorRow, changes: SensorChanges) -> None:
    """Raises ConflictError if the host cannot carry out a new order among the changes."""
    wanted = changes.wanted()
    new = {name: value for name, value in wanted.items() if value != getattr(row, name)}
    kept = {"uninstalled_us": row.uninstalled_us, "hostname": row.hostname}
    _check_orders({**kept, "key_sha256": row.has_sensor or None}, new)


def _check_orders(row: Mapping[str, Any] | RowMapping, new: dict[str, Any]) -> None:
    given = [member for column, member in _ORDERS.items() if new.get(column)]
    if not given:
        return
    if row["uninstalled_us"]:
        raise ConflictError(f"{given[0]}: the sensor of {row['hostname']} is uninstalled")
    if row["key_sha256"] is None:
        raise ConflictError(
            f"{given[0]}: {row['hostname']} has no sensor that supports this; "
            "it reports through a log shipper or osquery"
        )
