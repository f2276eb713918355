"""Groups of an alert search: alerts with the same values, as one row.

Titles and ids are read only for the groups shown, at the times of their newest alerts, by which the
table is sorted: reading them for every group took half of the time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import (
    ALERT_GROUP_FIELDS_MAX,
    ALERT_GROUP_VALUES_MAX,
    ALERT_TREND_DAYS,
    ROWS_DEFAULT,
)
from vedette.model.findings.alert import STATUSES
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.scope_filter import scoped

GROUPINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "source": ("source_kind", "source_id"),
        "rule": ("source_kind", "source_id"),
        "watchlist": ("watchlist_id", "watchlist_name"),
        "feed": ("feed_id", "feed_name"),
        "report": ("feed_id", "report_id"),
        "hostname": ("sensor_id", "hostname"),
        "host": ("sensor_id", "hostname"),
        "process": ("process_id",),
        "process_name": ("process_name",),
        "process_path": ("process_path",),
        "username": ("username",),
        "user": ("username",),
        "md5": ("md5",),
        "ioc": ("ioc_type", "ioc_value"),
        "title": ("title",),
        "group": ("group",),
        "assigned_to": ("assigned_to",),
        "alert_type": ("alert_type",),
        "status": ("status",),
        "level": ("level",),
    }
)
"""Maps grouping to the columns that distinguish its groups."""


@dataclass(frozen=True, slots=True)
class AlertGroup:
    """Alerts with the same values. Times in epoch microseconds."""

    values: Mapping[str, Any]
    """Values by column of `GROUPINGS`."""
    title: str
    """Title of the newest alert."""
    newest_id: str
    count: int
    events: int
    hosts: int
    severity_max: int
    """Severity in thousandths."""
    first_us: int
    newest_us: int
    statuses: Mapping[str, int]
    trend: Sequence[int]
    """Alerts on each of the last `ALERT_TREND_DAYS` days, the newest last."""


@dataclass(frozen=True, slots=True)
class AlertGroups:
    total: int
    """Number of groups."""
    groups: Sequence[AlertGroup]


_STATUSES: Final = "[{}]".format(", ".join(f"countIf(status = '{one}')" for one in STATUSES))
"""Number of alerts by status, in the order of `STATUSES`; adding up a map takes longer."""

_DAY_US: Final = 24 * 3600 * 1_000_000
_NO_TREND: Final = (0,) * ALERT_TREND_DAYS

_GROUP_SORTS: Final = MappingProxyType(
    {
        "count": "counted",
        "newest": "newest",
        "created_time": "newest",
        "severity": "severity",
        "alert_severity": "severity",
        "hosts": "hosts",
    }
)


def group_alerts(
    engine: Engine,
    where: Condition,
    scope: Scope,
    by: str,
    sort: tuple[str, bool],
    *,
    start: int = 0,
    rows: int = ROWS_DEFAULT,
    now_us: int = 0,
    reach: Reach = EVERYWHERE,
) -> AlertGroups:
    """Groups the alerts of the scope that a condition selects by a grouping, or by up to three with
    commas between them. `sort` is (name, whether it is descending); trends end at `now_us`.

    Raises BadRequestError for an unknown grouping or sort, UnavailableError when it takes longer
    than `reach` allows.
    """
    columns, (sorted_by, descends) = _columns(by), sort
    if sorted_by not in _GROUP_SORTS:
        raise BadRequestError(f"sort: {sorted_by[:60]!r} is not one of {', '.join(_GROUP_SORTS)}")
    names = ", ".join(f"`{name}`" for name in columns)
    within = scoped(where, scope)
    hosts = "toUInt64(1)" if "sensor_id" in columns else "uniqExact(sensor_id)"
    selected = f"FROM alert FINAL {within.clause} GROUP BY {names}"
    found = engine.query(
        f"SELECT {names}, count() AS counted, sum(`count`) AS events, "
        f"{hosts} AS hosts, max(alert_severity) AS severity, "
        "min(created_time) AS oldest, max(created_time) AS newest, "
        f"{_STATUSES} AS statuses, count() OVER () AS total {selected} "
        f"ORDER BY {_GROUP_SORTS[sorted_by]} {'DESC' if descends else 'ASC'}, {names} "
        f"LIMIT {min(rows, ALERT_GROUP_VALUES_MAX):d} OFFSET {start:d}",
        within.params,
        settings={**SETTINGS, "prefer_column_name_to_alias": 1},
        deadline_s=reach.left_s(),
    ).dicts()
    if found:
        newest = _newest(engine, where, scope, columns, found, reach)
        trends = _trends(engine, where, scope, columns, found, now_us, reach)
        groups = [
            _group(columns, row, newest.get(key), trends.get(key, _NO_TREND))
            for row in found
            for key in (_key(columns, row),)
        ]
        return AlertGroups(found[0]["total"], [one for one in groups if one is not None])
    total = engine.query(
        f"SELECT count() FROM (SELECT 1 {selected})",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).rows[0][0]
    return AlertGroups(total, [])


def _newest(
    engine: Engine,
    where: Condition,
    scope: Scope,
    columns: Sequence[str],
    groups: Sequence[Mapping[str, Any]],
    reach: Reach,
) -> dict[tuple[Any, ...], tuple[str, str]]:
    """Maps the values of a group to title and id of its newest selected alert; if the alert has
    changed since the groups were read, of the newest alert at these times."""
    names = ", ".join(f"`{name}`" for name in columns)
    times = "SELECT fromUnixTimestamp64Micro(arrayJoin({newest:Array(Int64)}), 'UTC')"
    selected = " AND ".join(f"({one})" for one in (where.before, where.sql) if one)
    order = "is_selected, created_time, id"
    at_times = scoped(Condition(f"created_time IN ({times})"), scope)
    found = engine.query(
        f"SELECT {names}, argMax(title, ({order})) AS newest_title, "
        f"argMax(id, ({order})) AS newest_id FROM "
        f"(SELECT {names}, title, created_time, id, {selected} AS is_selected FROM alert FINAL "
        f"{at_times.clause}) GROUP BY {names}",
        {**at_times.params, **where.params, "newest": sorted({row["newest"] for row in groups})},
        settings={**SETTINGS, "prefer_column_name_to_alias": 1},
        deadline_s=reach.left_s(),
    )
    return {_key(columns, row): (row["newest_title"], row["newest_id"]) for row in found.dicts()}


def _trends(
    engine: Engine,
    where: Condition,
    scope: Scope,
    columns: Sequence[str],
    groups: Sequence[Mapping[str, Any]],
    now_us: int,
    reach: Reach,
) -> dict[tuple[Any, ...], Sequence[int]]:
    """Maps the values of a group to its alerts by day, the newest last. Covers only the groups
    shown, so that only the newest days are read."""
    first_us = now_us - ALERT_TREND_DAYS * _DAY_US
    recent = (
        "created_time > fromUnixTimestamp64Micro({first:Int64}, 'UTC') AND "
        "created_time <= fromUnixTimestamp64Micro({now:Int64}, 'UTC') AND "
        f"toString(`{columns[0]}`) IN {{shown:Array(String)}}"
    )
    within = scoped(replace(where, sql=f"({where.sql}) AND {recent}"), scope)
    names = ", ".join(f"`{name}`" for name in columns)
    days = ", ".join(f"countIf(day = {number:d})" for number in range(ALERT_TREND_DAYS))
    found = engine.query(
        f"SELECT {names}, [{days}] AS trend FROM (SELECT {names}, "
        "intDiv(toUnixTimestamp64Micro(created_time) - {first:Int64} - 1, {width:Int64}) AS day "
        f"FROM alert FINAL {within.clause}) GROUP BY {names}",
        {
            **within.params,
            "first": first_us,
            "now": now_us,
            "width": _DAY_US,
            "shown": sorted({str(row[columns[0]]) for row in groups}),
        },
        settings={**SETTINGS, "prefer_column_name_to_alias": 1},
        deadline_s=reach.left_s(),
    )
    return {_key(columns, row): row["trend"] for row in found.dicts()}


def _key(columns: Sequence[str], row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in columns)


def _columns(by: str) -> tuple[str, ...]:
    names = by.split(",")
    if len(names) > ALERT_GROUP_FIELDS_MAX:
        raise BadRequestError(f"group.field: at most {ALERT_GROUP_FIELDS_MAX} groupings")
    for name in names:
        if name not in GROUPINGS:
            raise BadRequestError(
                f"group.field: {name[:60]!r} is not one of {', '.join(GROUPINGS)}"
            )
    return tuple(dict.fromkeys(column for name in names for column in GROUPINGS[name]))


def _group(
    columns: Sequence[str],
    row: Mapping[str, Any],
    newest: tuple[str, str] | None,
    trend: Sequence[int],
) -> AlertGroup | None:
    """Returns the group; None if its alerts have been removed meanwhile."""
    if newest is None:
        return None
    return AlertGroup(
        values={name: row[name] for name in columns},
        title=newest[0],
        newest_id=newest[1],
        count=row["counted"],
        events=row["events"],
        hosts=row["hosts"],
        severity_max=row["severity"],
        first_us=row["oldest"],
        newest_us=row["newest"],
        statuses={
            status: count for status, count in zip(STATUSES, row["statuses"], strict=True) if count
        },
        trend=trend,
    )
