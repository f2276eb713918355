"""Check-ins: stores a sensor's report and returns its orders.

`check_in` handles a batch in one transaction (`state/shares/group_commit.py`). Two columns
represent the four phases of isolation (docs/api-objects.md#isolation): `network_isolation_enabled`
is the wanted state, `is_isolating` the last reported state. Transitions 0 -> 1 and 2 -> 3 change
the first, 1 -> 2 and 3 -> 0 the second. Users write only the first, sensors only the second.

The health history of a sensor has a row for each hour in which the health changed, for
`HEALTH_DAYS`. A check-in writes a row only if its health differs from the previous one, so a
healthy fleet writes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from sqlalchemy import Connection, bindparam, case, delete, false, func, select, update

from vedette import limits
from vedette.errors import UnauthorizedError, VedetteError
from vedette.limits import Limit
from vedette.state.db.bulk_statement import BulkStatement
from vedette.state.db.database import Database, insert_new
from vedette.state.db.schema import SENSOR
from vedette.state.db.schema_fleet import SENSOR_HEALTH
from vedette.state.sensors.group_orders import GroupOrders, group_orders
from vedette.state.sensors.silent_sensors import contact_of, earlier_seen, midnight_us

CHECKINS_A_SECOND_MAX: Limit[int] = 400
"""Check-ins per second that a server aims for; larger fleets get a longer interval."""

HEALTH_DAYS: Limit[int] = 30
"""Days of the health history of sensors."""


_NO_ORDERS = GroupOrders()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Report of a check-in, by column of `sensor`; None leaves a column unchanged."""

    boot_id: str | None = None
    clock_delta_s: int | None = None
    uptime_s: int | None = None
    sensor_uptime_s: int | None = None
    sensor_version: str | None = None
    health_status: int | None = None
    health_message: str | None = None
    eventlog_bytes: int | None = None
    storefiles_bytes: int | None = None
    volume_total_bytes: int | None = None
    volume_free_bytes: int | None = None
    memory_bytes: int | None = None
    network_adapters: str | None = None
    addresses: str | None = None
    power_state: int | None = None
    utc_offset_min: int | None = None
    is_isolating: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OsqueryFacts:
    """Facts that osquery reports about its host, by column of `sensor`; None leaves a column
    unchanged."""

    network_adapters: str | None = None
    addresses: str | None = None
    computer_sid: str | None = None
    sensor_version: str | None = None


_NO_FACTS = OsqueryFacts()


@dataclass(frozen=True, slots=True)
class Progress:
    """Orders that a sensor has completed."""

    flushed_before_us: int = 0
    flushed_number: int | None = None
    """Number of the completed flush order; None from sensors without flush numbers, for which
    `flushed_before_us` decides."""
    has_restarted: bool = False
    is_uninstalling: bool = False


@dataclass(frozen=True, slots=True)
class WantedState:
    """The wanted state of a sensor after its check-in."""

    id: int
    hostname: str
    group_id: int
    os_type: str
    sensor_version: str
    isolate: bool
    flush_before_us: int
    """0: no flush is requested."""
    flush_number: int
    """Number of the latest flush order."""
    restart: bool
    uninstall: bool
    interval_s: int
    """Time (s) until the next check-in."""
    group: GroupOrders = _NO_ORDERS


@dataclass(frozen=True, slots=True)
class CheckIn:
    """A check-in of a sensor."""

    sensor_id: int
    report: Report
    progress: Progress
    now_us: int
    interval_s: int
    """Time (s) until the next check-in, unless the group sets one."""
    least_interval_s: int = 0
    """Minimum interval (s), also for the group's setting."""


_READ = (
    "id",
    "hostname",
    "group_id",
    "os_type",
    "sensor_version",
    "last_seen_us",
    "earlier_seen_us",
    "flush_us",
    "flush_number",
    "restart_queued",
    "is_isolating",
    "uninstall",
    "uninstalled_us",
    "network_isolation_enabled",
    "checkin_us",
    "health_status",
    "health_message",
)
_REPORTED = tuple(field.name for field in fields(Report))
_KEPT = (
    "last_seen_us",
    "earlier_seen_us",
    "flush_us",
    "restart_queued",
    "uninstalled_us",
    "checkin_us",
    "next_checkin_us",
)
_ROWS = (
    select(*(SENSOR.c[name] for name in _READ))
    .where(SENSOR.c.id.in_(bindparam("sensors", expanding=True)))
    .order_by(SENSOR.c.id)
    .with_for_update()
)
_UPDATE = BulkStatement(
    update(SENSOR)
    .where(SENSOR.c.id == bindparam("sensor"))
    .values(
        {name: bindparam(f"new_{name}", type_=SENSOR.c[name].type) for name in _KEPT}
        | {
            # Values that are not reported stay. A single statement for all sensors makes a batch
            # one call.
            name: func.coalesce(bindparam(f"new_{name}", type_=SENSOR.c[name].type), SENSOR.c[name])
            for name in _REPORTED
        }
    )
)


def check_in(connection: Connection, items: Sequence[CheckIn]) -> list[WantedState | VedetteError]:
    """Stores reports. Returns the wanted state of each sensor, or UnauthorizedError for a sensor
    that no longer exists."""
    asked = {"sensors": sorted({item.sensor_id for item in items})}
    rows = {row["id"]: dict(row) for row in connection.execute(_ROWS, asked).mappings()}
    orders = group_orders(connection, {row["group_id"] for row in rows.values()})
    changes: list[dict[str, Any]] = []
    healths: list[HealthChange] = []
    found: list[WantedState | VedetteError] = []
    for item in items:
        row = rows.get(item.sensor_id)
        if row is None:
            found.append(UnauthorizedError("the sensor no longer exists"))
            continue
        of_group = orders.get(row["group_id"], _NO_ORDERS)
        interval_s = max(of_group.settings.interval_s or item.interval_s, item.least_interval_s)
        earlier = row["health_status"] if row["checkin_us"] else None
        changes.append(_take(row, item, interval_s))
        if earlier is not None and (now := row["health_status"]) != earlier:
            message = row["health_message"]
            healths.append(HealthChange(item.sensor_id, item.now_us, earlier, now, message))
        found.append(_standing(row, of_group, interval_s))
    if changes:
        _UPDATE.execute(connection, changes)
    note_health(connection, healths)
    return found


def _take(row: dict[str, Any], item: CheckIn, interval_s: int) -> dict[str, Any]:
    """Applies a check-in to a row. Returns the parameters of its UPDATE."""
    reported = {name: getattr(item.report, name) for name in _REPORTED}
    row |= {name: value for name, value in reported.items() if value is not None and name in row}
    row |= _after(row, item.progress, item.now_us)
    row["checkin_us"] = item.now_us
    row["next_checkin_us"] = item.now_us + interval_s * 1_000_000
    row |= contact_of(row, item.now_us)
    if row["uninstalled_us"]:
        reported["is_isolating"] = False
    values = reported | {name: row[name] for name in _KEPT}
    return {"sensor": item.sensor_id} | {f"new_{name}": value for name, value in values.items()}


def note_contact(
    connection: Connection, sensor_id: int, now_us: int, facts: OsqueryFacts = _NO_FACTS
) -> str:
    """Records a contact of osquery and returns the operating system of its host. If Vedette's own
    sensor also runs there, check-in time and facts stay those of that sensor.

    Raises UnauthorizedError for a sensor that no longer exists.
    """
    is_alone = SENSOR.c.key_sha256.is_(None)
    next_us = now_us + limits.OSQUERY_CHECKIN_S * 1_000_000
    reported = {name: value for name, value in asdict(facts).items() if value is not None}
    is_moved = is_alone & (SENSOR.c.addresses != facts.addresses) if facts.addresses else false()
    changed = connection.execute(
        update(SENSOR)
        .where(SENSOR.c.id == sensor_id)
        .values(
            last_seen_us=now_us,
            earlier_seen_us=earlier_seen(midnight_us(now_us)),
            checkin_us=case((is_alone, now_us), else_=SENSOR.c.checkin_us),
            next_checkin_us=case((is_alone, next_us), else_=SENSOR.c.next_checkin_us),
            changed_us=case((is_moved, now_us), else_=SENSOR.c.changed_us),  # a cached column
            **{
                name: case((is_alone, value), else_=SENSOR.c[name])
                for name, value in reported.items()
            },
        )
        .returning(SENSOR.c.os_type)
    ).scalar()
    if changed is None:
        raise UnauthorizedError("the sensor no longer exists")
    return str(changed)


def _after(row: Mapping[str, Any], progress: Progress, now_us: int) -> dict[str, Any]:
    """Returns column values for the orders that the check-in completes."""
    values: dict[str, Any] = {}
    if row["flush_us"] and _is_flushed(row, progress):
        values["flush_us"] = 0
    if row["restart_queued"] and progress.has_restarted:
        values["restart_queued"] = False
    if progress.is_uninstalling:
        values["uninstalled_us"] = row["uninstalled_us"] or now_us
    elif row["uninstalled_us"]:
        values["uninstalled_us"] = 0  # still installed
    return values


def _is_flushed(row: Mapping[str, Any], progress: Progress) -> bool:
    if progress.flushed_number is not None:
        return bool(progress.flushed_number >= row["flush_number"])
    return bool(progress.flushed_before_us >= row["flush_us"])


def _standing(row: Mapping[str, Any], of_group: GroupOrders, interval_s: int) -> WantedState:
    return WantedState(
        id=row["id"],
        hostname=row["hostname"],
        group_id=row["group_id"],
        os_type=row["os_type"],
        sensor_version=row["sensor_version"],
        isolate=row["network_isolation_enabled"] and not row["uninstalled_us"],
        flush_before_us=row["flush_us"],
        flush_number=row["flush_number"],
        restart=row["restart_queued"],
        uninstall=row["uninstall"],
        interval_s=interval_s,
        group=of_group,
    )


class CheckinInterval:
    """Interval between check-ins: the setting, or longer if the fleet would exceed
    `CHECKINS_A_SECOND_MAX`."""

    def __init__(self, database: Database, interval_s: int) -> None:
        self._database = database
        self._wanted_s = interval_s
        self.least_s = 0
        """Minimum interval (s) for a fleet of this size, also for settings of groups."""

    @property
    def interval_s(self) -> int:
        """Interval (s) for sensors whose group sets none."""
        return max(self._wanted_s, self.least_s)

    def refresh(self) -> None:
        """Counts the fleet. Call every minute."""
        query = select(func.count()).select_from(SENSOR).where(SENSOR.c.checkin_us > 0)
        with self._database.reading() as connection:
            count = connection.execute(query).scalar_one()
        self.least_s = -(-count // CHECKINS_A_SECOND_MAX)


def contact(
    connection: Connection, sensor_id: int, group_id: int, now_us: int
) -> tuple[str, tuple[str, ...]]:
    """Like `note_contact`; also returns the kinds of events that the group's sensors do not collect
    (`GroupSettings.not_collected`)."""
    os_type = note_contact(connection, sensor_id, now_us)
    orders = group_orders(connection, [group_id]).get(group_id, GroupOrders())
    return os_type, orders.settings.not_collected


_HOUR_US: Final = 3600 * 1_000_000
_HEALTH: Final = SENSOR_HEALTH.c
_NOTE_HEALTH: Final = (
    update(SENSOR_HEALTH)
    .where(_HEALTH.sensor_id == bindparam("of_sensor"), _HEALTH.hour == bindparam("of_hour"))
    .values(
        least=case((_HEALTH.least > bindparam("now"), bindparam("now")), else_=_HEALTH.least),
        latest=bindparam("now"),
        message=bindparam("said"),
    )
)


@dataclass(frozen=True, slots=True)
class HealthChange:
    """A check-in that reports a different health (0 to 100) than before."""

    sensor_id: int
    time_us: int
    earlier: int
    now: int
    message: str


@dataclass(frozen=True, slots=True)
class HealthHour:
    """Minimum health of the hour that began at `time_us`. `message` is the sensor's last message if
    its health changed in that hour, else ""."""

    time_us: int
    least: int
    message: str = ""


def note_health(connection: Connection, changes: Sequence[HealthChange]) -> None:
    """Stores the health changes of a batch of check-ins, in order."""
    if not changes:
        return
    rows = [
        {
            **{"sensor_id": one.sensor_id, "hour": one.time_us // _HOUR_US, "message": one.message},
            **{"earlier": one.earlier, "least": min(one.earlier, one.now), "latest": one.now},
        }
        for one in changes
    ]
    connection.execute(insert_new(connection, SENSOR_HEALTH), rows)
    noted = [
        {
            **{"of_sensor": one.sensor_id, "of_hour": one.time_us // _HOUR_US},
            **{"now": one.now, "said": one.message},
        }
        for one in changes
    ]
    connection.execute(_NOTE_HEALTH, noted)


def health_by_hour(
    database: Database, sensor_id: int, since_us: int, now_us: int, health: int
) -> list[HealthHour]:
    """Returns every hour from `since_us` to the current one, oldest first. `health` is the last
    reported health."""
    first = max(since_us // _HOUR_US, now_us // _HOUR_US - HEALTH_DAYS * 24 + 1)
    hours = range(first, now_us // _HOUR_US + 1)
    query = select(SENSOR_HEALTH).where(_HEALTH.sensor_id == sensor_id, _HEALTH.hour >= first)
    with database.reading() as connection:
        kept = {row.hour: row for row in connection.execute(query.order_by(_HEALTH.hour))}
    level = next((row.earlier for row in kept.values()), health)
    found = []
    for hour in hours:
        row = kept.get(hour)
        least, message = (level, "") if row is None else (row.least, row.message)
        found.append(HealthHour(hour * _HOUR_US, least, message))
        level = level if row is None else row.latest
    return found


def delete_old_health(connection: Connection, now_us: int) -> None:
    """Deletes history older than `HEALTH_DAYS`."""
    old = _HEALTH.hour <= now_us // _HOUR_US - HEALTH_DAYS * 24
    connection.execute(delete(SENSOR_HEALTH).where(old))
