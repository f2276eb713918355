"""Histogram of the results of a process search, in intervals with round lengths."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from vedette.limits import HISTOGRAM_BUCKETS, HISTOGRAM_BUCKETS_MAX, HISTOGRAM_STACKS
from vedette.model.fields import PROCESS
from vedette.model.scope import Scope
from vedette.query import Condition, compile_segments
from vedette.query.compile.processes_sql import compile_processes
from vedette.query.parse.query_params import carried_query
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.partitions.index_build import suffix_indexes
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_facets import count_facets
from vedette.store.read.segment_histogram import (
    count_by_week_hour,
    count_over_time,
    span_of,
    stacks_over_time,
)

_SECOND_US: Final = 1_000_000
_STEPS_S: Final = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1_800,
    3_600,
    7_200,
    10_800,
    21_600,
    43_200,
    86_400,
    2 * 86_400,
    7 * 86_400,
    30 * 86_400,
    365 * 86_400,
)
"""Interval lengths to choose from, in seconds."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """(number of the interval since 1970, count) pairs; intervals without results are omitted."""

    field: str
    width_us: int
    since_us: int
    until_us: int
    counts: Sequence[tuple[int, int]]
    by: str = ""
    """The facet whose most frequent values are also counted."""
    values: Sequence[str | int] = ()
    stacked: Sequence[tuple[int, Sequence[int]]] = ()
    """(interval, count of each of `values`)."""


@dataclass(frozen=True, slots=True)
class HistogramRequest:
    """`since_us` and `until_us` are 0 to use the times of the first and last result."""

    search: SearchRequest
    field: str
    since_us: int = 0
    until_us: int = 0
    buckets: int = HISTOGRAM_BUCKETS
    by: str = ""


def process_histogram(
    engine: Engine,
    scope: Scope,
    request: HistogramRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
    within_s: float | None = None,
) -> Histogram:
    """Counts the results by interval. Raises QueryError, BadRequestError for a field that is not a
    time, and UnavailableError (`reason` "deadline") after `within_s`, by default the search
    deadline."""
    where = _condition(engine, request.search, settings, now_us)
    reach = request.search.windows.within(within_s or settings.search_deadline_s, cancel)
    since_us, until_us = request.since_us, request.until_us
    if not since_us or not until_us:
        low_us, high_us = span_of(engine, where, scope, request.field, reach=reach)
        since_us, until_us = since_us or low_us, until_us or max(high_us, since_us)
    width_us = width_for(until_us - since_us, request.buckets)
    counts = count_over_time(
        engine,
        where,
        scope,
        request.field,
        width_us,
        by_process=bool(request.search.group),
        reach=reach,
    )
    found = Histogram(request.field, width_us, since_us, until_us, counts)
    return _stacked(engine, where, scope, request, found, now_us, reach) if request.by else found


def _stacked(
    engine: Engine,
    where: Condition,
    scope: Scope,
    request: HistogramRequest,
    found: Histogram,
    now_us: int,
    reach: Reach,
) -> Histogram:
    """Returns the histogram with the counts of the most frequent values of a facet."""
    group = "process_id" if request.search.group else ""
    facets = count_facets(
        engine,
        where,
        scope,
        [request.by],
        now_us,
        group=group,
        values=HISTOGRAM_STACKS,
        reach=reach,
    )
    values = [value for value, _ in facets.counts[request.by]]
    stacked = stacks_over_time(
        engine,
        where,
        scope,
        request.field,
        found.width_us,
        request.by,
        [*map(str, values)],
        by_process=bool(group),
        reach=reach,
    )
    return replace(found, by=request.by, values=values, stacked=stacked)


def process_week(
    engine: Engine,
    scope: Scope,
    search: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
) -> Sequence[tuple[int, int, int]]:
    """Counts the results by weekday and hour of their start (`count_by_week_hour`). Raises the
    errors of `process_histogram`."""
    where = _condition(engine, search, settings, now_us)
    reach = search.windows.within(settings.search_deadline_s, cancel)
    return count_by_week_hour(engine, where, scope, by_process=bool(search.group), reach=reach)


def _condition(
    engine: Engine, search: SearchRequest, settings: SearchSettings, now_us: int
) -> Condition:
    tree = carried_query(search.parts, PROCESS)
    checked = guarded_check(engine, tree, PROCESS, settings, now_us)
    compiled = compile_processes if search.is_comprehensive else compile_segments
    return compiled(checked, indexes=suffix_indexes(engine))


def width_for(span_us: int, buckets: int) -> int:
    """Returns the smallest interval length (microseconds) with which at most `buckets` intervals
    cover a span."""
    wanted = max(1, min(buckets, HISTOGRAM_BUCKETS_MAX))
    least_s = span_us / _SECOND_US / wanted
    return next((step for step in _STEPS_S if step >= least_s), _STEPS_S[-1]) * _SECOND_US
