"""Alert search, groups and histograms (docs/alerts.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import Limit
from vedette.model.alert_fields import ALERT, ALERT_LISTS
from vedette.model.findings.alert import AlertRow
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import Condition, Tree, parse_stored
from vedette.query.check.coverage import matches_all
from vedette.query.compile.alerts_sql import compile_alerts, shared_tests, with_values
from vedette.query.parse.query_params import carried_query
from vedette.query.typed import Checked, Match
from vedette.search.document_search import Findings, Kind, Results, search_documents, sort_columns
from vedette.search.processes.histogram import Histogram, width_for
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import damaged_parts
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.alert_facets import count_alert_facets, total_and_facets
from vedette.store.read.detection.alert_groups import AlertGroups, group_alerts
from vedette.store.read.detection.alert_histogram import (
    alert_span,
    alerts_over_time,
    count_alerts_over_time,
)
from vedette.store.read.detection.alert_texts import texts_where
from vedette.store.read.detection.alerts import (
    SORTABLE,
    alerts_by_id,
    alerts_page,
    count_alerts,
    search_alerts,
)
from vedette.store.read.segment_search import Found

SUPPRESSION_SAMPLES: Limit[int] = 10
"""Alerts shown in the preview of a suppression."""


ALERT_SORT_DEFAULT: Final = "created_time desc"

KIND: Final = Kind(ALERT, ALERT_LISTS, lambda row: str(row["id"]), SORTABLE)


def search(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
) -> Results:
    """Runs an alert search.

    A search that exceeds its deadline returns no results and sets `is_incomplete`. Raises
    QueryError with the position for a query that does not parse or check, and BadRequestError for a
    field that cannot be sorted by or is not a facet.
    """
    tree = carried_query(request.parts, ALERT)
    checked = guarded_check(engine, tree, ALERT, settings, now_us)

    def find(reach: Reach) -> Findings:
        where = _with_known_texts(engine, checked, reach)
        return _find(engine, scope, request, where, reach, settings.count_filtered_results)

    return search_documents(KIND, tree, request, settings, find, cancel)


def alert(engine: Engine, scope: Scope, alert_id: str) -> AlertRow:
    """Returns one alert with every column. Raises NotFoundError if the alert does not exist or is
    outside the scope."""
    known = alert_id.lower()
    found = alerts_by_id(engine, [known], scope).get(known)
    if found is None:
        raise NotFoundError(f"alert {alert_id[:64]!r} not found")
    return found


def groups(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    by: str,
    settings: SearchSettings,
    now_us: int,
) -> AlertGroups:
    """Groups the alerts of a query by the field `by`. Raises QueryError, BadRequestError, and
    UnavailableError (`reason` "deadline") when the search deadline passes."""
    tree = carried_query(request.parts, ALERT)
    checked = guarded_check(engine, tree, ALERT, settings, now_us)
    if len(request.sorts) != 1:
        raise BadRequestError("sort: groups are sorted by one value")
    (sort,) = request.sorts
    reach = Reach.within(settings.search_deadline_s)
    where = _with_known_texts(engine, checked, reach)
    return group_alerts(
        engine,
        where,
        scope,
        by,
        (sort.field, sort.is_descending),
        start=request.start,
        rows=request.rows,
        now_us=now_us,
        reach=reach,
    )


def over_time(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    width_us: int,
    settings: SearchSettings,
    now_us: int,
) -> Sequence[tuple[int, int, int]]:
    """Counts the alerts of a query by interval and fifth of severity (`alerts_over_time`). Raises
    QueryError, and UnavailableError when the search deadline passes."""
    where = _condition(engine, carried_query(request.parts, ALERT), settings, now_us)
    reach = Reach.within(settings.search_deadline_s)
    return alerts_over_time(engine, where, scope, width_us, reach=reach)


def histogram(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    within_s: float,
) -> Histogram:
    """Counts the alerts of a query in intervals of the request's time field. Raises QueryError,
    BadRequestError for a field that is not a time, and UnavailableError after `within_s` seconds.
    """
    if request.histogram_by:
        raise BadRequestError("histogram.by: alerts are not counted by a facet over time")
    where = _condition(engine, carried_query(request.parts, ALERT), settings, now_us)
    reach = Reach.within(within_s)
    since_us, until_us = alert_span(engine, where, scope, request.histogram, reach=reach)
    width_us = width_for(until_us - since_us, request.buckets)
    counts = count_alerts_over_time(engine, where, scope, request.histogram, width_us, reach=reach)
    return Histogram(request.histogram, width_us, since_us, until_us, counts)


@dataclass(frozen=True, slots=True)
class SuppressionPreview:
    """The stored alerts that a suppression would have suppressed."""

    alerts: int
    of_alerts: int
    """Number of alerts in the scope."""
    days: Sequence[tuple[str, int]]
    hosts: Sequence[tuple[str, int]]
    titles: Sequence[tuple[str, int]]
    samples: Sequence[AlertRow]
    """The newest suppressed alerts, at most `SUPPRESSION_SAMPLES`."""


def preview_suppression(
    engine: Engine, scope: Scope, query: str, settings: SearchSettings, now_us: int
) -> SuppressionPreview:
    """Returns the effect of a suppression query on the stored alerts of the scope. Raises
    QueryError."""
    where = _condition(engine, parse_stored(query, ALERT), settings, now_us)
    reach = Reach.within(settings.search_deadline_s)
    newest = sort_columns(KIND, (Sort("created_time", is_descending=True),))
    found = search_alerts(engine, where, scope, newest, rows=SUPPRESSION_SAMPLES, reach=reach)
    facets = count_alert_facets(
        engine, where, scope, ("created_time", "hostname", "title"), reach=reach
    )
    everything = count_alerts(engine, Condition("1"), scope, reach=reach)
    return SuppressionPreview(
        found.total,
        everything,
        facets["created_time"],
        facets["hostname"],
        facets["title"],
        found.rows,
    )


def selected_by_query(
    engine: Engine, query: str, settings: SearchSettings, now_us: int
) -> tuple[Condition, bool]:
    """Returns (condition of a stored query for bulk updates, whether every alert meets it). Raises
    QueryError."""
    checked = guarded_check(engine, parse_stored(query, ALERT), ALERT, settings, now_us)
    return compile_alerts(checked), matches_all(checked, ALERT.always)


def _condition(engine: Engine, tree: Tree, settings: SearchSettings, now_us: int) -> Condition:
    return compile_alerts(guarded_check(engine, tree, ALERT, settings, now_us))


def _with_known_texts(engine: Engine, checked: Checked, reach: Reach) -> Condition:
    """Returns the condition of a search with words of titles and host names replaced by the stored
    values that match them. The lookup is a snapshot: only the next search finds a value that is
    stored meanwhile."""
    known: dict[Match, list[str]] = {}
    for column, match in shared_tests(checked):
        where = compile_alerts(match, prefix="known")
        texts = texts_where(engine, column, where, reach.left_s())
        if texts is not None:
            known[match] = texts
    return compile_alerts(with_values(checked, known))


def _find(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    where: Condition,
    reach: Reach,
    counts_filtered: bool,
) -> Findings:
    """Runs all store reads of a search within one reach."""
    order = sort_columns(KIND, request.sorts)
    # The count of alerts, and of all facets in the same query, runs in parallel with the page.
    counting = engine.query_pool.submit(
        total_and_facets,
        engine,
        where,
        scope,
        request.facets,
        values=request.facet_values,
        is_rarest=request.is_rarest,
        reach=reach,
    )
    try:
        rows = alerts_page(
            engine,
            where,
            scope,
            order,
            columns=request.columns,
            start=request.start,
            rows=request.rows,
            reach=reach,
        )
    finally:
        total, facets = counting.result()
    found = Found(total, rows)
    hidden = 0
    if not scope.sees_all and counts_filtered:
        hidden = count_alerts(engine, where, EVERYTHING, reach=reach) - found.total
    is_incomplete = any(part.table == "alert" for part in damaged_parts(engine))
    return Findings(found, facets, hidden, is_incomplete)
