"""Alert search v7: filters over the cloud API's fields, queries (docs/cloud-alerts.md#alerts)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vedette.limits import Limit
from vedette.model.alert_fields import ALERT
from vedette.model.findings.alert import AlertRow
from vedette.model.scope import Scope
from vedette.query import Condition, check, parse_stored
from vedette.query.check.coverage import matches_all
from vedette.query.compile.alerts_sql import all_conditions, compile_alerts
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection import cloud_alerts
from vedette.store.read.detection.alerts import count_alerts
from vedette.store.read.detection.cloud_alerts import (
    AlertCluster,
    AlertSpan,
    Facets,
    FieldFilter,
    SortTerm,
)

ALERT_V7_RANGE_S: Limit[int] = 14 * 24 * 3600
"""Seconds that a search without a `time_range` looks back (two weeks, the API's default)."""

ALERT_V7_FACET_VALUES_MAX: Limit[int] = 1_000
"""Values of one facet."""


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """Selects the alerts created within a span that meet all filters and the query."""

    span: AlertSpan | None = None
    """None selects the last two weeks."""
    filters: tuple[FieldFilter, ...] = ()
    query: str = ""


def selects_all(wanted: AlertFilter, now_us: int) -> bool:
    """Whether a filter has no condition: no span, no criterion, no exclusion, and either no query
    or a query that every alert matches. Raises QueryError."""
    if wanted.span is not None or wanted.filters:
        return False
    checked = check(parse_stored(wanted.query, ALERT), ALERT, now_us=now_us)
    return matches_all(checked, ALERT.always)


@dataclass(frozen=True, slots=True)
class AlertPage:
    """One page of alerts."""

    total: int
    rows: Sequence[AlertRow]


def condition(
    engine: Engine, wanted: AlertFilter, settings: SearchSettings, now_us: int
) -> Condition:
    """Returns the condition on alerts. Raises QueryError, BadRequestError."""
    span = wanted.span or AlertSpan(now_us - ALERT_V7_RANGE_S * 1_000_000)
    made = FieldFilter("backend_timestamp", span=span)
    parts = [cloud_alerts.filter_condition((made, *wanted.filters))]
    if wanted.query.strip():
        tree = parse_stored(wanted.query, ALERT)
        parts.append(compile_alerts(guarded_check(engine, tree, ALERT, settings, now_us)))
    return all_conditions(parts)


def search(
    engine: Engine,
    scope: Scope,
    wanted: AlertFilter,
    sorts: Sequence[SortTerm],
    settings: SearchSettings,
    now_us: int,
    *,
    start: int,
    rows: int,
) -> AlertPage:
    """Returns a page of alerts, the newest first unless `sorts` gives an order. Raises QueryError,
    BadRequestError, UnavailableError (`reason` "deadline")."""
    where = condition(engine, wanted, settings, now_us)
    total, found = cloud_alerts.search_cloud_alerts(
        engine,
        where,
        scope,
        sorts or (("backend_timestamp", True),),
        start=start,
        rows=rows,
        reach=Reach.within(settings.search_deadline_s),
    )
    return AlertPage(total, found)


def facets(
    engine: Engine,
    scope: Scope,
    wanted: AlertFilter,
    names: Sequence[str],
    settings: SearchSettings,
    now_us: int,
    *,
    rows: int,
    keeps_own: bool = True,
) -> Facets:
    """Counts the values of the facets `names`. Without `keeps_own`, the filters on a field do not
    restrict that field's own facet. Raises the errors of `search`."""
    most = min(rows or ALERT_V7_FACET_VALUES_MAX, ALERT_V7_FACET_VALUES_MAX)
    reach = Reach.within(settings.search_deadline_s)
    if keeps_own:
        where = condition(engine, wanted, settings, now_us)
        return cloud_alerts.cloud_facets(engine, where, scope, names, rows=most, reach=reach)
    counted: Facets = {}
    for name in names:
        others = tuple(one for one in wanted.filters if one.field.lower() != name.lower())
        where = condition(engine, replace(wanted, filters=others), settings, now_us)
        counted |= cloud_alerts.cloud_facets(engine, where, scope, (name,), rows=most, reach=reach)
    return counted


@dataclass(frozen=True, slots=True)
class AlertClusters:
    """A page of groups, each with its newest alert."""

    total: int
    alerts: int
    """Number of alerts in all groups together."""
    groups: Sequence[tuple[AlertCluster, AlertRow]]


def groups(
    engine: Engine,
    scope: Scope,
    wanted: AlertFilter,
    by: str,
    settings: SearchSettings,
    now_us: int,
    *,
    start: int,
    rows: int,
) -> AlertClusters:
    """Groups alerts by the values of a field. Raises the errors of `search`."""
    where = condition(engine, wanted, settings, now_us)
    reach = Reach.within(settings.search_deadline_s)
    total, found = cloud_alerts.cloud_groups(
        engine, where, scope, by, start=start, rows=rows, reach=reach
    )
    ids = tuple(one.newest_id for one in found)
    newest = cloud_alerts.filter_condition((FieldFilter("id", ids),))
    _, rows_found = cloud_alerts.search_cloud_alerts(
        engine, newest, scope, (), start=0, rows=len(ids), reach=reach
    )
    by_id = {row["id"]: row for row in rows_found}
    alerts = count_alerts(engine, where, scope, reach=reach)
    pairs = [(one, by_id[one.newest_id]) for one in found if one.newest_id in by_id]
    return AlertClusters(total, alerts, pairs)


def by_id(engine: Engine, scope: Scope, alert_id: str, settings: SearchSettings) -> AlertRow | None:
    """Returns one alert of the scope, or None."""
    where = cloud_alerts.filter_condition((FieldFilter("id", (alert_id,)),))
    _, rows = cloud_alerts.search_cloud_alerts(
        engine, where, scope, (), start=0, rows=1, reach=Reach.within(settings.search_deadline_s)
    )
    return rows[0] if rows else None
