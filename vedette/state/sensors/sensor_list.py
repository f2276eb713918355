"""Lists of sensors (docs/api-sensors.md#changing-a-sensor): filtered, sorted, paged, within a
scope."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    RowMapping,
    Text,
    bindparam,
    case,
    false,
    func,
    select,
    true,
)

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import PULSE_CHANGES_SHOWN
from vedette.model.scope import Scope
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, SENSOR
from vedette.state.db.schema_console import ISOLATION
from vedette.state.sensors.sensor_row import SensorRow
from vedette.state.sensors.sensor_selection import SORTS, sensor_terms, sort_key

ID_MAX = 2**31 - 1
"""Databases store ids as 32-bit integers."""

DAY_US = 24 * 3600 * 1_000_000

DEFAULT_SORT = "last_checkin_time"

TROUBLES: Final = ("isolation", "gaps")


@dataclass(frozen=True, slots=True)
class SensorQuery:
    """Filters, order and page; the defaults select everything, newest check-in first.

    `hostname` and `ip` match part of the text, case-sensitive; with `ip`, `hostname` is ignored.
    `inactive_days` selects sensors with a contact within that many days, `silent_days` those
    without. `sort` is a key of `sensor_selection.SORTS`. `rows` None means all.
    """

    hostname: str = ""
    ip: str = ""
    group_id: int | None = None
    inactive_days: int | None = None
    silent_days: int | None = None
    trouble: str = ""
    """One of `TROUBLES`, or "" for any: `isolation` selects isolated hosts and hosts with a
    changing isolation, `gaps` hosts with missing records."""
    terms: str = ""
    """A query (docs/query-objects.md#sensors)."""
    sort: str = DEFAULT_SORT
    is_descending: bool = True
    start: int = 0
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class SensorPage:
    """A page of sensors. `total` counts all matches within the scope."""

    total: int
    sensors: list[SensorRow]


def page(database: Database, scope: Scope, query: SensorQuery, now_us: int) -> SensorPage:
    """Returns a page of sensors. Raises BadRequestError for an unknown sort column or a negative
    position, QueryError for invalid terms."""
    if query.sort not in SORTS:
        raise BadRequestError(f"sort.col: cannot sort by {query.sort!r}; one of {', '.join(SORTS)}")
    if query.start < 0 or (query.rows is not None and query.rows < 0):
        raise BadRequestError("rows and start must not be negative")
    condition = _condition(scope, query, now_us)
    with database.reading() as connection:
        total = connection.execute(
            select(func.count()).select_from(SENSOR).where(condition)
        ).scalar_one()
        if query.rows == 0 or query.start >= total:
            return SensorPage(total, [])
        ids = _ids(connection, condition, query, total, now_us)
        rows = connection.execute(QUERY.where(_is_one_of(ids))).mappings()
        found = {row["id"]: _row(row) for row in rows}
        return SensorPage(total, [found[sensor_id] for sensor_id in ids])


def ids(database: Database, scope: Scope, query: SensorQuery, now_us: int) -> list[int]:
    """Returns only the ids, in the order of the query."""
    condition = _condition(scope, query, now_us)
    with database.reading() as connection:
        total = connection.execute(
            select(func.count()).select_from(SENSOR).where(condition)
        ).scalar_one()
        return _ids(connection, condition, query, total, now_us) if total else []


def _ids(
    connection: Connection,
    condition: ColumnElement[bool],
    query: SensorQuery,
    total: int,
    now_us: int,
) -> list[int]:
    """Returns the ids of a page in order. Sorting ids moves a tenth of the data that sorting rows
    would. A page in the second half is read from the end, since databases only keep the rows before
    a page."""
    start, rows = query.start, total if query.rows is None else query.rows
    rows = min(rows, total - start)
    is_from_end = start > total // 2
    is_descending = query.is_descending is not is_from_end
    key = sort_key(query.sort, now_us)
    order = (
        key.desc() if is_descending else key.asc(),
        SENSOR.c.id.desc() if is_from_end else SENSOR.c.id.asc(),
    )
    offset = total - start - rows if is_from_end else start
    found = select(SENSOR.c.id).where(condition).order_by(*order).offset(offset).limit(rows)
    ids = list(connection.scalars(found))
    return ids[::-1] if is_from_end else ids


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over sensors (docs/api-objects.md#sensor-statistics); backlogs as of their last
    check-ins."""

    sensors: int
    active: int
    """Sensors with a contact within a day."""
    eventlog_bytes: int
    storefiles_bytes: int


def totals(database: Database, scope: Scope, now_us: int) -> Totals:
    """Returns counts over the sensors of a scope."""
    recent = case((SENSOR.c.last_seen_us > now_us - DAY_US, 1), else_=0)
    query = select(
        func.count(),
        func.coalesce(func.sum(recent), 0),
        func.coalesce(func.sum(SENSOR.c.eventlog_bytes), 0),
        func.coalesce(func.sum(SENSOR.c.storefiles_bytes), 0),
    ).where(_condition(scope, SensorQuery(), now_us))
    with database.reading() as connection:
        return Totals(*(int(value) for value in connection.execute(query).one()))


@dataclass(frozen=True, slots=True)
class Troubles:
    """Hosts by phase of their isolation, and hosts with missing records."""

    ordered: int
    isolated: int
    releasing: int
    gaps: int


def troubles(database: Database, scope: Scope) -> Troubles:
    """Returns counts over the sensors of a scope."""
    wanted, is_on = SENSOR.c.network_isolation_enabled, SENSOR.c.is_isolating
    kinds = (wanted & ~is_on, wanted & is_on, ~wanted & is_on, _LACKS_RECORDS)
    query = select(*(func.coalesce(func.sum(case((one, 1), else_=0)), 0) for one in kinds))
    here = _condition(scope, SensorQuery(), 0) & (SENSOR.c.uninstalled_us == 0)
    with database.reading() as connection:
        return Troubles(*(int(value) for value in connection.execute(query.where(here)).one()))


_LACKS_RECORDS: Final = (SENSOR.c.sequence_gaps > 0) | (SENSOR.c.missing_blocks > 0)


def get(database: Database, scope: Scope, sensor_id: int) -> SensorRow:
    """Returns a sensor. Raises NotFoundError if it does not exist or is out of scope."""
    if scope.allows(sensor_id) and 0 < sensor_id <= ID_MAX:
        with database.reading() as connection:
            row = connection.execute(QUERY.where(SENSOR.c.id == sensor_id)).mappings().first()
        if row is not None:
            return _row(row)
    raise NotFoundError(f"sensor {sensor_id} not found")


def some(database: Database, scope: Scope, ids: Sequence[int]) -> dict[int, SensorRow]:
    """Maps id to sensor for those that exist and are in scope."""
    wanted = {one for one in ids if scope.allows(one) and 0 < one <= ID_MAX}
    if not wanted:
        return {}
    with database.reading() as connection:
        rows = connection.execute(QUERY.where(_is_one_of(wanted))).mappings()
        return {row["id"]: _row(row) for row in rows}


_ISOLATION = {
    "isolation_reason": ISOLATION.c.reason,
    "isolation_by": ISOLATION.c.username,
    "isolation_since_us": ISOLATION.c.since_us,
    "isolation_expires_us": ISOLATION.c.expires_us,
}
_SHOWN = tuple(
    SENSOR.c[name]
    for name in SensorRow.__slots__
    if name not in ("group_name", "has_sensor", "shares_name", *_ISOLATION)
)
_OTHER = SENSOR.alias("other")
_SHARES_NAME = (
    select(_OTHER.c.id)
    .where(
        _OTHER.c.computer_name == SENSOR.c.computer_name,
        # The sum keeps SQLite from using the index on groups, so that it looks up names.
        _OTHER.c.group_id + 0 == SENSOR.c.group_id,
        _OTHER.c.id != SENSOR.c.id,
    )
    .exists()
)
QUERY = (
    select(
        *_SHOWN,
        GROUP.c.name.label("group_name"),
        SENSOR.c.key_sha256.is_not(None).label("has_sensor"),
        _SHARES_NAME.label("shares_name"),
        *(
            func.coalesce(column, "" if isinstance(column.type, Text) else 0).label(name)
            for name, column in _ISOLATION.items()
        ),
    )
    .select_from(SENSOR)
    .join(GROUP)
    .outerjoin(ISOLATION, ISOLATION.c.sensor_id == SENSOR.c.id)
)


def own_check_ins(database: Database, scope: Scope) -> list[tuple[int, int, str, int]]:
    """Returns (id, group, operating system, last check-in in epoch us) of the scope's sensors that
    run our own program."""
    query = select(SENSOR.c.id, SENSOR.c.group_id, SENSOR.c.os_type, SENSOR.c.checkin_us).where(
        _condition(scope, SensorQuery(), 0),
        SENSOR.c.key_sha256.is_not(None),
        SENSOR.c.uninstalled_us == 0,
    )
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


def isolation_changes(database: Database, scope: Scope) -> list[dict[str, object]]:
    """Returns id, name and wanted isolation of the scope's sensors whose isolation differs from the
    order; the first `PULSE_CHANGES_SHOWN` by id."""
    moving = SENSOR.c.network_isolation_enabled != SENSOR.c.is_isolating
    query = (
        select(SENSOR.c.id, SENSOR.c.hostname, SENSOR.c.network_isolation_enabled)
        .where(_condition(scope, SensorQuery(), 0) & moving & (SENSOR.c.uninstalled_us == 0))
        .order_by(SENSOR.c.id)
        .limit(PULSE_CHANGES_SHOWN)
    )
    with database.reading() as connection:
        rows = connection.execute(query).all()
    return [{"sensor_id": row[0], "hostname": row[1], "isolate": row[2]} for row in rows]


def _condition(scope: Scope, query: SensorQuery, now_us: int) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = true()
    if scope.sensors is not None:
        condition &= _is_one_of(scope.sensors)
    if query.ip:
        addresses = case(
            (SENSOR.c.addresses == "", SENSOR.c.interface_ip), else_=SENSOR.c.addresses
        )
        condition &= _contains(addresses, query.ip)
    elif query.hostname:
        condition &= _contains(SENSOR.c.hostname, query.hostname) | _contains(
            SENSOR.c.computer_name, query.hostname
        )
    if query.group_id is not None:
        is_possible = 0 < query.group_id <= ID_MAX
        condition &= SENSOR.c.group_id == query.group_id if is_possible else false()
    if query.inactive_days is not None:
        condition &= SENSOR.c.last_seen_us > max(now_us - query.inactive_days * DAY_US, -1)
    if query.silent_days is not None:
        condition &= SENSOR.c.last_seen_us <= now_us - query.silent_days * DAY_US
    if query.trouble == "isolation":
        condition &= SENSOR.c.network_isolation_enabled | SENSOR.c.is_isolating
    elif query.trouble == "gaps":
        condition &= _LACKS_RECORDS
    return condition & sensor_terms(query.terms, now_us) if query.terms else condition


def _is_one_of(sensors: Iterable[int]) -> ColumnElement[bool]:
    """Returns a condition with literal ids: a scope may have more ids than a statement can have
    parameters."""
    return SENSOR.c.id.in_(literal_ids(sensors))


def literal_ids(sensors: Iterable[int]) -> BindParameter[Any]:
    """Returns ids for IN, written as literal numbers."""
    return bindparam("ids", sorted(sensors), Integer, expanding=True, literal_execute=True)


def _contains(column: ColumnElement[str], part: str) -> ColumnElement[bool]:
    """Returns a substring condition that is case-sensitive on both databases, unlike LIKE, and
    without wildcards."""
    return func.replace(column, part, "") != column


def _row(row: RowMapping) -> SensorRow:
    return SensorRow(**{name: row[name] for name in SensorRow.__slots__})
