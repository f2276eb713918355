"""Sensors as the API lists them (api.md 4.8): filtered, sorted, paged, within a scope."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Integer, RowMapping, bindparam, false, func, select, true

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.scope import Scope
from vedette.state.engine import Database
from vedette.state.schema import GROUP, SENSOR

ID_MAX = 2**31 - 1
"""The databases keep ids as 32-bit integers."""

DAY_US = 24 * 3600 * 1_000_000

SORTS = {
    "last_checkin_time": SENSOR.c.last_seen_us,
    "last_update": SENSOR.c.last_seen_us,
    "registration_time": SENSOR.c.first_seen_us,
    "computer_name": SENSOR.c.computer_name,
    "computer_dns_name": SENSOR.c.hostname,
    "hostname": SENSOR.c.hostname,
    "group_id": SENSOR.c.group_id,
    "os_type": SENSOR.c.os_type,
    "os_environment_display_string": SENSOR.c.os_type,
    "network_adapters": SENSOR.c.interface_ip,
    "id": SENSOR.c.id,
}
"""What `sort.col` may name."""

DEFAULT_SORT = "last_checkin_time"


@dataclass(frozen=True, slots=True)
class SensorRow:
    """A sensor as kept."""

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
    enrolled_us: int = 0
    has_sensor: bool = False
    """Whether our own sensor is enrolled there, which can be told what to do."""
    reenrolled: int = 0
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
    computer_sid: str = ""
    sequence_gaps: int = 0
    missing_blocks: int = 0
    flush_us: int = 0
    uninstalled_us: int = 0
    liveresponse_init: bool = False


@dataclass(frozen=True, slots=True)
class SensorQuery:
    """What is asked for; defaults ask for everything, newest check-in first.

    `hostname` and `ip` match a part of the text, case-sensitive; with `ip` the `hostname` does
    not count. `inactive_days` keeps sensors heard of within so many days. `sort` is a name of
    `SORTS`. `rows` None means all.
    """

    hostname: str = ""
    ip: str = ""
    group_id: int | None = None
    inactive_days: int | None = None
    sort: str = DEFAULT_SORT
    is_descending: bool = True
    start: int = 0
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class SensorPage:
    """`total` counts what matches within the scope, on all pages."""

    total: int
    sensors: list[SensorRow]


def is_online(row: SensorRow, now_us: int) -> bool:
    """Whether a sensor came when it should have, with some patience; a host that only a shipper
    reports for is online while it is heard of."""
    if row.enrolled_us and row.checkin_us:
        interval_us = row.next_checkin_us - row.checkin_us
        return now_us - row.checkin_us < limits.SENSOR_CHECKINS_MISSED * interval_us
    return now_us - row.last_seen_us < limits.SENSOR_ONLINE_US


def page(database: Database, scope: Scope, query: SensorQuery, now_us: int) -> SensorPage:
    """Raises BadRequestError for an unknown sort column or a negative position."""
    if query.sort not in SORTS:
        raise BadRequestError(f"sort.col: cannot sort by {query.sort!r}; one of {', '.join(SORTS)}")
    if query.start < 0 or (query.rows is not None and query.rows < 0):
        raise BadRequestError("rows and start must not be negative")
    column = SORTS[query.sort]
    condition = _condition(scope, query, now_us)
    with database.reading() as connection:
        total = connection.execute(
            select(func.count()).select_from(SENSOR).where(condition)
        ).scalar_one()
        if query.rows == 0 or query.start >= total:
            return SensorPage(total, [])
        found = connection.execute(
            _QUERY.where(condition)
            .order_by(column.desc() if query.is_descending else column.asc(), SENSOR.c.id)
            .offset(query.start)
            .limit(total if query.rows is None else query.rows)
        )
        return SensorPage(total, [_row(row) for row in found.mappings()])


def get(database: Database, scope: Scope, sensor_id: int) -> SensorRow:
    """Raises NotFoundError for a sensor that does not exist or is out of scope."""
    if scope.allows(sensor_id) and 0 < sensor_id <= ID_MAX:
        with database.reading() as connection:
            row = connection.execute(_QUERY.where(SENSOR.c.id == sensor_id)).mappings().first()
        if row is not None:
            return _row(row)
    raise NotFoundError(f"there is no sensor {sensor_id}")


_SHOWN = tuple(
    SENSOR.c[name] for name in SensorRow.__slots__ if name not in ("group_name", "has_sensor")
)
_QUERY = select(
    *_SHOWN,
    GROUP.c.name.label("group_name"),
    SENSOR.c.key_sha256.is_not(None).label("has_sensor"),
).join(GROUP)


def _condition(scope: Scope, query: SensorQuery, now_us: int) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = true()
    if scope.sensors is not None:
        condition &= _is_one_of(scope.sensors)
    if query.ip:
        condition &= _contains(SENSOR.c.interface_ip, query.ip)
    elif query.hostname:
        condition &= _contains(SENSOR.c.hostname, query.hostname) | _contains(
            SENSOR.c.computer_name, query.hostname
        )
    if query.group_id is not None:
        is_possible = 0 < query.group_id <= ID_MAX
        condition &= SENSOR.c.group_id == query.group_id if is_possible else false()
    if query.inactive_days is not None:
        condition &= SENSOR.c.last_seen_us > max(now_us - query.inactive_days * DAY_US, -1)
    return condition


def _is_one_of(sensors: frozenset[int]) -> ColumnElement[bool]:
    """Written out as numbers: a scope may hold more ids than a statement may have parameters."""
    ids = bindparam("ids", sorted(sensors), Integer, expanding=True, literal_execute=True)
    return SENSOR.c.id.in_(ids)


def _contains(column: ColumnElement[str], part: str) -> ColumnElement[bool]:
    """Case-sensitive on both databases, which LIKE is not, and without its wildcards."""
    return func.replace(column, part, "") != column


def _row(row: RowMapping) -> SensorRow:
    return SensorRow(**{name: row[name] for name in SensorRow.__slots__})
