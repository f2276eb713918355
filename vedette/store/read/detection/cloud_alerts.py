"""Reads alerts for search v7: by filters on its fields, in pages, facets and groups.

Every read takes the caller's scope. Versions are merged (FINAL); tests of values that are the same
in all versions of an alert run before the merge.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vedette.errors import BadRequestError
from vedette.model.findings.alert import ALERT_COLUMNS, ALERT_TEXTS, AlertRow
from vedette.model.scope import Scope
from vedette.query.compile.condition import SETTINGS, Condition
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import EVERYWHERE, Reach
from vedette.store.read.detection.alerts import count_alerts
from vedette.store.read.detection.cloud_fields import CloudField, cloud_field
from vedette.store.sql.column_lists import quoted, readable
from vedette.store.sql.scope_filter import scoped


@dataclass(frozen=True, slots=True)
class AlertSpan:
    """A time range, epoch microseconds, with an exclusive end. None is open."""

    from_us: int | None = None
    to_us: int | None = None


@dataclass(frozen=True, slots=True)
class FieldFilter:
    """Condition on a field: one of some values, or within a span; negated with `excludes`."""

    field: str
    values: tuple[str | int | bool, ...] = ()
    span: AlertSpan | None = None
    excludes: bool = False
    at_least: int | None = None
    """Minimum value, for number fields."""


def filter_condition(filters: Sequence[FieldFilter]) -> Condition:
    """Returns the condition for alerts that meet all filters. Raises BadRequestError."""
    before: list[str] = []
    after: list[str] = []
    params: dict[str, Any] = {}
    for number, one in enumerate(filters):
        field = cloud_field(one.field, "exclusions" if one.excludes else "criteria")
        sql = _tested(field, one, f"v7_{number}", params)
        (before if field.lasting else after).append(f"NOT ({sql})" if one.excludes else f"({sql})")
    return Condition(" AND ".join(after) or "1", params, before=" AND ".join(before))


def _tested(field: CloudField, wanted: FieldFilter, name: str, params: dict[str, Any]) -> str:
    if wanted.at_least is not None:
        params[name] = wanted.at_least
        return f"{field.sql} >= {{{name}:Int64}}"
    if wanted.span is not None:
        if field.kind != "time":
            raise BadRequestError(f"{wanted.field}: takes a list of values, not a time range")
        return _within(field.sql, wanted.span, name, params)
    match field.kind:
        case "time":
            raise BadRequestError(f"{wanted.field}: takes start and end, or range")
        case "number":
            params[name] = [_number(wanted.field, value) for value in wanted.values]
            return f"{field.sql} IN {{{name}:Array(Int64)}}"
        case "flag":
            params[name] = sorted({int(str(value).lower() == "true") for value in wanted.values})
            return f"({field.sql}) IN {{{name}:Array(UInt8)}}"
        case "list":
            params[name] = [str(value).lower() for value in wanted.values]
            lowered = f"arrayMap(v -> lowerUTF8(toString(v)), {field.sql})"
            return f"hasAny({lowered}, {{{name}:Array(String)}})"
        case "text":
            params[name] = [str(value).lower() for value in wanted.values]
            return f"lowerUTF8(toString({field.sql})) IN {{{name}:Array(String)}}"


def _within(sql: str, span: AlertSpan, name: str, params: dict[str, Any]) -> str:
    tests = []
    for sign, suffix, bound in ((">=", "a", span.from_us), ("<", "b", span.to_us)):
        if bound is not None:
            params[f"{name}{suffix}"] = bound
            tests.append(f"{sql} {sign} fromUnixTimestamp64Micro({{{name}{suffix}:Int64}}, 'UTC')")
    return " AND ".join(tests) or "1"


def _number(name: str, value: object) -> int:
    text = str(value).strip()
    if not (text.isascii() and text.lstrip("-").isdecimal() and len(text) <= 18):
        raise BadRequestError(f"{name}: {text[:40]!r} is not a whole number")
    return int(text)


_LEFT_OUT: Final = frozenset({"rule_text", "false_positives", "history"})
_TYPES: Final = {column.name: column.type for column in ALERT_COLUMNS}


def _selected(names: Iterable[str]) -> str:
    return ", ".join(
        f"{readable(quoted(name), 'ip')} AS {quoted(name)}"
        if _TYPES.get(name) == "ip"
        else quoted(name)
        for name in names
    )


_PAGE: Final = _selected(name for name in (*_TYPES, *ALERT_TEXTS) if name not in _LEFT_OUT)
"""Columns of a page: all except the longest."""

_RECORD: Final = _selected(
    (
        "id",
        "source_kind",
        "source_id",
        "title",
        "description",
        "link",
        "level",
        "status",
        "alert_severity",
        "created_time",
        "updated_time",
        "first_event_time",
        "last_event_time",
        "sensor_id",
        "hostname",
        "group",
        "os_type",
        "sensor_criticality",
        "username",
        "comms_ip",
        "interface_ip",
        "process_path",
        "process_unique_id",
        "cmdline",
        "md5",
        "sha256",
        "parent_name",
        "parent_cmdline",
        "ioc_type",
        "ioc_value",
        "report_id",
        "watchlist_id",
        "watchlist_name",
        "tags",
        "techniques",
        "notes",
        "assigned_to",
    )
)
"""Columns used for a record (`web/alerts/cloud_alert_json.py`)."""

SortTerm = tuple[str, bool]
"""(field, whether it is descending)."""


def search_cloud_alerts(
    engine: Engine,
    where: Condition,
    scope: Scope,
    sorts: Sequence[SortTerm],
    *,
    start: int,
    rows: int,
    reach: Reach,
) -> tuple[int, list[AlertRow]]:
    """Returns (number of alerts of the scope that a condition selects, one page of them). Equal
    alerts keep their order on all pages. Raises BadRequestError, UnavailableError (`reason`
    "deadline")."""
    total = count_alerts(engine, where, scope, reach=reach)
    if not rows or start >= total:
        return total, []
    within = scoped(where, scope)
    keys = engine.query(
        f"SELECT created_time, id FROM alert FINAL {within.clause} "
        f"ORDER BY {_ordering(sorts)} LIMIT {rows:d} OFFSET {start:d}",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).rows
    found = {row["id"]: row for row in _at_keys(engine, keys, scope, reach)}
    return total, [found[key[1]] for key in keys if key[1] in found]


def oldest_alerts(engine: Engine, where: Condition, scope: Scope, rows: int) -> list[AlertRow]:
    """Returns the first `rows` alerts of the scope that a condition selects, by creation time, and
    all alerts created at the same time as the last of them; with the columns of a record."""
    within = scoped(where, scope)
    keys = engine.query(
        f"SELECT created_time, id FROM alert FINAL {within.clause} "
        f"ORDER BY created_time LIMIT {rows:d} WITH TIES",
        within.params,
        settings=SETTINGS,
    ).rows
    found = {row["id"]: row for row in _at_keys(engine, keys, scope, EVERYWHERE, _RECORD)}
    return [found[key[1]] for key in keys if key[1] in found]


def _at_keys(
    engine: Engine,
    keys: Sequence[tuple[Any, ...]],
    scope: Scope,
    reach: Reach,
    selected: str = _PAGE,
) -> list[AlertRow]:
    if not keys:
        return []
    times = [key[0] for key in keys]
    where = Condition(
        "created_time >= fromUnixTimestamp64Micro({oldest:Int64}, 'UTC') "
        "AND created_time <= fromUnixTimestamp64Micro({newest:Int64}, 'UTC') "
        "AND id IN {ids:Array(String)}",
        {"oldest": min(times), "newest": max(times), "ids": [key[1] for key in keys]},
    )
    within = scoped(where, scope)
    # Without FINAL, which would merge every column. Reads the newest version, not that of the keys:
    # if the alert is changed in between, a merge removes that version.
    return engine.query(
        f"SELECT {selected} FROM alert PREWHERE {within.sql} ORDER BY version DESC LIMIT 1 BY id",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    ).dicts()


def _ordering(sorts: Sequence[SortTerm]) -> str:
    terms = []
    for name, descends in sorts:
        field = cloud_field(name, "sort")
        if field.kind == "list":
            raise BadRequestError(f"sort: cannot sort alerts by {name[:60]!r}")
        terms.append(f"{field.sql} {'DESC' if descends else 'ASC'}")
    return ", ".join([*terms, "id"])


Facets = dict[str, list[tuple[str, int]]]


def cloud_facets(
    engine: Engine,
    where: Condition,
    scope: Scope,
    names: Sequence[str],
    *,
    rows: int,
    reach: Reach,
) -> Facets:
    """Returns the most frequent values of each named field with their counts. Raises
    BadRequestError."""
    if not names:
        return {}
    pairs = ", ".join(
        f"arrayMap(v -> ({number:d}, toString(v)), {_list_of(cloud_field(name, 'terms'))})"
        for number, name in enumerate(names)
    )
    within = scoped(where, scope)
    found = engine.query(
        "SELECT pair.1 AS which, pair.2 AS shown, count() AS counted "
        f"FROM (SELECT arrayJoin(arrayConcat({pairs})) AS pair FROM alert FINAL "
        f"{within.clause}) WHERE shown != '' GROUP BY which, shown "
        f"ORDER BY which, counted DESC, shown LIMIT {rows:d} BY which",
        within.params,
        settings=SETTINGS,
        deadline_s=reach.left_s(),
    )
    facets: Facets = {name: [] for name in names}
    for which, value, counted in found.rows:
        facets[names[which]].append((value, counted))
    return facets


def _list_of(field: CloudField) -> str:
    match field.kind:
        case "list":
            return field.sql
        case "flag":
            return f"[if({field.sql}, 'true', 'false')]"
        case "time":
            return f"[concat(toString(toDate({field.sql})), 'T00:00:00.000Z')]"
        case "text" | "number":
            return f"[{field.sql}]"


@dataclass(frozen=True, slots=True)
class AlertCluster:
    """Alerts with the same value of a field. Times in epoch microseconds."""

    value: str
    count: int
    hosts: int
    severity: int
    first_us: int
    newest_us: int
    newest_id: str
    statuses: Mapping[str, int]
    determinations: Mapping[str, int]


def cloud_groups(
    engine: Engine,
    where: Condition,
    scope: Scope,
    by: str,
    *,
    start: int,
    rows: int,
    reach: Reach,
) -> tuple[int, list[AlertCluster]]:
    """Returns (number of groups, one page of them, the newest first). Raises BadRequestError."""
    field = cloud_field(by, "group_by")
    if field.kind not in ("text", "number"):
        raise BadRequestError(f"group_by: cannot group alerts by {by[:60]!r}")
    severity, status = cloud_field("severity", ""), cloud_field("workflow_status", "")
    determination = cloud_field("determination_value", "")
    within = scoped(where, scope)
    found = engine.query(
        f"SELECT toString({field.sql}) AS shown, count() AS counted, "
        "uniqExact(sensor_id) AS hosts, "
        f"max({severity.sql}) AS worst, min(created_time) AS oldest, "
        "max(created_time) AS latest, argMax(id, (created_time, id)) AS latest_id, "
        f"sumMap(map({status.sql}, toUInt64(1))) AS statuses, "
        f"sumMap(map({determination.sql}, toUInt64(1))) AS determinations, "
        "count() OVER () AS groups "
        f"FROM alert FINAL {within.clause} GROUP BY shown "
        f"ORDER BY latest DESC, shown LIMIT {rows:d} OFFSET {start:d}",
        within.params,
        settings={**SETTINGS, "prefer_column_name_to_alias": 1},
        deadline_s=reach.left_s(),
    ).rows
    total = found[0][9] if found else 0
    return total, [AlertCluster(*row[:9]) for row in found]


def selected_keys(engine: Engine, where: Condition, scope: Scope, most: int) -> list[str]:
    """Returns the ids of the alerts that a condition selects, at most `most`."""
    within = scoped(where, scope)
    rows = engine.query(
        f"SELECT id FROM alert FINAL {within.clause} ORDER BY created_time, id LIMIT {most:d}",
        within.params,
        settings=SETTINGS,
    ).rows
    return [row[0] for row in rows]


def newest_creation_us(engine: Engine, since_us: int) -> int:
    """Returns the creation time of the newest alert created since `since_us`; `since_us` if there
    is none."""
    found = engine.query(
        "SELECT max(created_time) FROM alert "
        "WHERE created_time >= fromUnixTimestamp64Micro({since:Int64}, 'UTC')",
        {"since": since_us},
    ).rows[0][0]
    return max(int(found), since_us)
