"""Changes of a sensor by users (docs/http-api.md#changing-a-sensor): orders, its group, notes.

An order is refused where no sensor can carry it out, so that nobody believes a host isolated that
is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import RowMapping, delete, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_console import ISOLATION
from vedette.state.sensors.sensor_row import SensorRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorChanges:
    """What to set; None leaves as it is. `notes` "" removes the notes, `flush_us` 0 cancels the
    flush (epoch microseconds: the sensor sends all older data at once)."""

    network_isolation_enabled: bool | None = None
    restart_queued: bool | None = None
    uninstall: bool | None = None
    liveresponse_init: bool | None = None
    group_id: int | None = None
    notes: str | None = None
    flush_us: int | None = None

    def wanted(self) -> dict[str, Any]:
        """The columns to set."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


_ORDERS = ("network_isolation_enabled", "restart_queued", "uninstall", "flush_us")


def change(database: Database, sensor_id: int, changes: SensorChanges, now_us: int) -> None:
    """Raises NotFoundError; ConflictError for an order to a host whose sensor is uninstalled, or
    that never had one; BadRequestError for a group that does not exist."""
    wanted = changes.wanted()
    with database.writing() as connection:
        row = (
            connection.execute(select(SENSOR).where(SENSOR.c.id == sensor_id).with_for_update())
            .mappings()
            .first()
        )
        if row is None:
            raise NotFoundError(f"there is no sensor {sensor_id}")
        new = {name: value for name, value in wanted.items() if value != row[name]}
        if changes.flush_us:  # an order of its own, also for the time of an earlier one
            new |= {"flush_us": changes.flush_us, "flush_number": row["flush_number"] + 1}
        _check_orders(row, new)
        if "group_id" in new:
            group = select(GROUP.c.id).where(GROUP.c.id == new["group_id"])
            if connection.scalar(group.with_for_update(read=True)) is None:
                raise BadRequestError(f"group_id: there is no sensor group {new['group_id']}")
            new["changed_us"] = now_us  # the write path caches the group
        if new.get("notes") == "":
            new["notes"] = None
        if "network_isolation_enabled" in new:  # what was said of another isolation, and its end
            connection.execute(delete(ISOLATION).where(ISOLATION.c.sensor_id == sensor_id))
        if new:
            connection.execute(update(SENSOR).where(SENSOR.c.id == sensor_id).values(new))


def check_orders(row: SensorRow, changes: SensorChanges) -> None:
    """Whether a host could carry out what is new in some changes; raises ConflictError."""
    wanted = changes.wanted()
    new = {name: value for name, value in wanted.items() if value != getattr(row, name)}
    kept = {"uninstalled_us": row.uninstalled_us, "hostname": row.hostname}
    _check_orders({**kept, "key_sha256": row.has_sensor or None}, new)


def _check_orders(row: Mapping[str, Any] | RowMapping, new: dict[str, Any]) -> None:
    given = [name for name in _ORDERS if new.get(name)]
    if not given:
        return
    if row["uninstalled_us"]:
        raise ConflictError(f"{given[0]}: the sensor of {row['hostname']} is uninstalled")
    if row["key_sha256"] is None:
        raise ConflictError(
            f"{given[0]}: {row['hostname']} has no sensor that could do it; a log shipper or "
            "osquery reports for it"
        )
