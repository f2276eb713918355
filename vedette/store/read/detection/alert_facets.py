"""Facet counts and groups of an alert search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.limits import ALERT_GROUP_FIELDS_MAX, ALERT_GROUP_VALUES_MAX, SEGMENT_FACET_VALUES_MAX
from vedette.model.findings.alert import ALERT_TEXTS, STATUSES
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.sql.scope_filter import scoped

_DAY: Final = "concat(toString(toDate({})), 'T00:00:00Z')"

FACETS: Mapping[str, str] = MappingProxyType(
    {
        **{
            name: f"`{name}`"
            for name in (
                *("status", "alert_type", "hostname", "group", "username", "os_type", "level"),
                *("process_name", "feed_name", "watchlist_name", "ioc_type", "ioc_value"),
                *("assigned_to", "title", "report_id", "md5"),
            )
        },
        **{
            name: f"toString(`{name}`)"
            for name in ("feed_id", "watchlist_id", "sensor_id", "total_hosts")
        },
        **{
            name: f"toString(intDiv(`{name}`, 1000))"
            for name in ("alert_severity", "report_score", "sensor_criticality", "feed_rating")
        },
        "process_path": "process_path",
        "source": "source_kind",
        "source_id": "source_id",
        "report_ignored": "if(report_ignored, 'true', 'false')",
        "tags": "tags",
        "techniques": "techniques",
        "observed_filename": "observed_filename",
        "created_time": _DAY.format("created_time"),
    }
)
"""Facets of alert search (docs/alerts.md#facets) and the SQL of their values; severities and
scores without their decimals, times by day. `NAME_full` and `NAME_facet` mean the same."""

_LISTS: Final = frozenset(ALERT_TEXTS)
"""Facets of which an alert has several values."""

_IN_ORDER: Final = frozenset({"created_time"})

Counts = dict[str, list[tuple[str, int]]]


def facet_name(name: str) -> str:
    """The facet that a caller means. Raises BadRequestError."""
    for ending in ("", "_full", "_facet"):
        known = name.removesuffix(ending)
        if known in FACETS:
            return known
    raise BadRequestError(f"facet.field: there is no facet {name[:60]!r}")


def count_alert_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    *,
    reach: Reach = EVERYWHERE,
) -> Counts:
    """The `SEGMENT_FACET_VALUES_MAX` most frequent values of each named facet with their counts,
    the most frequent first; days in order. Unknown values are left out.

    Raises BadRequestError for a name that is no facet, UnavailableError when it takes longer.
    """
    return total_and_facets(engine, where, scope, names, reach=reach)[1] if names else {}


def total_and_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    *,
    reach: Reach = EVERYWHERE,
) -> tuple[int, Counts]:
    """The exact number of alerts, and `count_alert_facets`.

    All facets with one value an alert are counted in one pass, as sets of grouping: columns of
    repeated texts are grouped by their dictionaries, and versions are merged once.
    """
    counts: Counts = {name: [] for name in names}
    within = scoped(where, scope)
    total = 0
    single = [name for name in counts if facet_name(name) not in _LISTS]
    lists = [name for name in counts if facet_name(name) in _LISTS]
    asked = [(single, _singles(single, within))]
    if lists:
        asked.append((lists, _listed(lists, within)))
    for which, selected in asked:
        found = engine.query(
            f"SELECT which, shown, counted FROM ({selected}) WHERE which != 0 AND shown != '' "
            f"ORDER BY which, counted DESC, shown LIMIT {SEGMENT_FACET_VALUES_MAX:d} BY which",
            within.params,
            settings={**SETTINGS, "prefer_column_name_to_alias": 1},
            deadline_s=reach.left_s(),
        )
        for number, value, count in found.rows:
            if number > len(which):
                total = count
            else:
                counts[which[number - 1]].append((value, count))
    for name in counts:
        if facet_name(name) in _IN_ORDER:
            counts[name].sort()
    return total, counts


def _singles(names: Sequence[str], within: Condition) -> str:
    """Counts by the values of each facet, whose numbers begin with 1, and then of all alerts."""
    keys = [*(FACETS[facet_name(name)] for name in names), "materialize('1')"]
    named = ", ".join(f"{key} AS key_{number}" for number, key in enumerate(keys, 1))
    sets = ", ".join(f"(key_{number})" for number in range(1, len(keys) + 1))
    # Of the keys only that of the row's own set has a value.
    values = ", ".join(f"toString(key_{number})" for number in range(1, len(keys) + 1))
    return (
        f"SELECT [{values}] AS keys, arrayFirstIndex(key -> key != '', keys) AS which, "
        "keys[which] AS shown, counted FROM ("
        f"SELECT {named}, count() AS counted FROM alert FINAL {within.clause} "
        f"GROUP BY GROUPING SETS ({sets}))"
    )


def _listed(names: Sequence[str], within: Condition) -> str:
    """Counts by the values of facets that are lists, whose numbers begin with 1."""
    pairs = ", ".join(
        f"arrayMap(v -> ({number}, toString(v)), {FACETS[facet_name(name)]})"
        for number, name in enumerate(names, 1)
    )
    return (
        "SELECT pair.1 AS which, pair.2 AS shown, count() AS counted "
        f"FROM (SELECT arrayJoin(arrayConcat({pairs})) AS pair FROM alert FINAL "
        f"{within.clause}) GROUP BY which, shown"
    )


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
"""What alerts can be grouped by, and the columns that distinguish groups."""


@dataclass(frozen=True, slots=True)
class AlertGroup:
    """Alerts with the same values. Times in epoch microseconds."""

    values: Mapping[str, Any]
    """By column of `GROUPINGS`."""
    title: str
    """Of the newest alert."""
    newest_id: str
    count: int
    events: int
    hosts: int
    severity_max: int
    """Thousandths."""
    first_us: int
    newest_us: int
    statuses: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class AlertGroups:
    total: int
    """Groups."""
    groups: Sequence[AlertGroup]


_STATUSES: Final = "[{}]".format(", ".join(f"countIf(status = '{one}')" for one in STATUSES))
"""Alerts by status, in the order of `STATUSES`; a map of them takes longer to add up."""

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
    rows: int = 10,
    reach: Reach = EVERYWHERE,
) -> AlertGroups:
    """The alerts of the scope that a condition selects, by the values of a grouping, or of up to
    three with commas between them. `sort` is a name and whether it descends.

    Raises BadRequestError for an unknown grouping or sort, UnavailableError when it takes longer.
    """
    columns, (sorted_by, descends) = _columns(by), sort
    if sorted_by not in _GROUP_SORTS:
        raise BadRequestError(f"sort: {sorted_by[:60]!r} is none of {', '.join(_GROUP_SORTS)}")
    names = ", ".join(f"`{name}`" for name in columns)
    within = scoped(where, scope)
    selected = f"FROM alert FINAL {within.clause} GROUP BY {names}"
    found = engine.query(
        f"SELECT {names}, argMax(title, created_time) AS newest_title, "
        "argMax(id, created_time) AS newest_id, count() AS counted, sum(`count`) AS events, "
        "uniqExact(sensor_id) AS hosts, max(alert_severity) AS severity, "
        "min(created_time) AS oldest, max(created_time) AS newest, "
        f"{_STATUSES} AS statuses, count() OVER () AS total {selected} "
        f"ORDER BY {_GROUP_SORTS[sorted_by]} {'DESC' if descends else 'ASC'}, {names} "
        f"LIMIT {min(rows, ALERT_GROUP_VALUES_MAX):d} OFFSET {start:d}",
        within.params,
        settings={**SETTINGS, "prefer_column_name_to_alias": 1},
        deadline_s=reach.left_s(),
    ).dicts()
    if found:
        return AlertGroups(found[0]["total"], [_group(columns, row) for row in found])
    total = engine.query(
        f"SELECT count() FROM (SELECT 1 {selected})",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).rows[0][0]
    return AlertGroups(total, [])


def _columns(by: str) -> tuple[str, ...]:
    names = by.split(",")
    if len(names) > ALERT_GROUP_FIELDS_MAX:
        raise BadRequestError(f"group.field: at most {ALERT_GROUP_FIELDS_MAX} groupings")
    for name in names:
        if name not in GROUPINGS:
            raise BadRequestError(f"group.field: {name[:60]!r} is none of {', '.join(GROUPINGS)}")
    return tuple(dict.fromkeys(column for name in names for column in GROUPINGS[name]))


def _group(columns: Sequence[str], row: Mapping[str, Any]) -> AlertGroup:
    return AlertGroup(
        values={name: row[name] for name in columns},
        title=row["newest_title"],
        newest_id=row["newest_id"],
        count=row["counted"],
        events=row["events"],
        hosts=row["hosts"],
        severity_max=row["severity"],
        first_us=row["oldest"],
        newest_us=row["newest"],
        statuses={
            status: count for status, count in zip(STATUSES, row["statuses"], strict=True) if count
        },
    )
