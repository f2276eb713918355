"""Searching stored event records (docs/logs.md)."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from vedette.errors import BadRequestError, UnavailableError
from vedette.model.log_fields import LOG
from vedette.model.scope import EVERYTHING, Scope
from vedette.query import Condition, terms
from vedette.query.compile.logs_sql import compile_logs
from vedette.query.parse.query_params import carried_query
from vedette.search.processes.histogram import Histogram, width_for
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.integrity.damage import damaged_parts
from vedette.store.partitions.lifecycle import cold_partitions
from vedette.store.plan.plan import Order
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.logs.log_facets import (
    Counts,
    count_log_facets,
    count_logs_over_time,
    facet_name,
    log_span,
)
from vedette.store.read.logs.log_rows import SORTABLE, LogRow, count_logs, log_page

LOG_SORT_DEFAULT: Final = "time desc"


@dataclass(frozen=True, slots=True)
class LogResults:
    """The answer to a log search."""

    rows: Sequence[LogRow]
    """One page."""
    total: int
    """Records on all pages; when `is_counted` is False, at least so many."""
    is_counted: bool
    """Whether all records were counted before the deadline."""
    start: int
    """Number of the first row of the page."""
    terms: Sequence[str]
    facets: Counts
    filtered: int
    """Records outside the caller's scope; 0 unless `count_filtered_results` is set."""
    is_incomplete: bool
    """Whether the deadline passed before the answer was whole, or a part of the store cannot be
    read."""
    is_everywhere: bool
    """False when an unmounted partition may hold further records."""
    elapsed_s: float


@dataclass(slots=True)
class _Findings:
    """Results that the store returned before the deadline."""

    rows: Sequence[LogRow]
    facets: Counts
    total: int = 0
    hidden: int = 0
    is_counted: bool = False
    is_whole: bool = False


def search_logs(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
) -> LogResults:
    """The answer to a log search. When the deadline passes, it has what was read until then: the
    page without an exact total, or nothing, and `is_incomplete`.

    Raises QueryError for a query that cannot be understood, with the position, and BadRequestError
    for a field that cannot be sorted by, or is not a facet.
    """
    began = time.monotonic()
    tree = carried_query(request.parts, LOG)
    where = compile_logs(guarded_check(engine, tree, LOG, settings, now_us))
    order = _sort_columns(request.sorts)
    for name in request.facets:
        facet_name(name)
    reach = Reach.within(settings.search_deadline_s, cancel=cancel)
    counts_filtered = settings.count_filtered_results and not scope.sees_all
    found = _find(engine, scope, request, where, order, reach, counts_filtered)
    is_damaged = any(part.table == "record" for part in damaged_parts(engine))
    return LogResults(
        rows=found.rows,
        total=found.total if found.is_counted else request.start + len(found.rows),
        is_counted=found.is_counted,
        start=request.start,
        terms=terms(tree),
        facets=found.facets,
        filtered=found.hidden,
        is_incomplete=not found.is_whole or is_damaged,
        is_everywhere=not cold_partitions(engine),
        elapsed_s=time.monotonic() - began,
    )


def log_histogram(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    within_s: float,
) -> Histogram:
    """The records of a query by the intervals that its request asks for. Raises QueryError,
    BadRequestError for what is no time, and UnavailableError when it takes longer."""
    if request.histogram_by:
        raise BadRequestError("histogram.by: records are not counted by a facet over time")
    tree = carried_query(request.parts, LOG)
    where = compile_logs(guarded_check(engine, tree, LOG, settings, now_us))
    reach = Reach.within(within_s)
    since_us, until_us = log_span(engine, where, scope, request.histogram, reach=reach)
    width_us = width_for(until_us - since_us, request.buckets)
    counts = count_logs_over_time(engine, where, scope, request.histogram, width_us, reach=reach)
    return Histogram(request.histogram, width_us, since_us, until_us, counts)


def _sort_columns(sorts: Sequence[Sort]) -> Order:
    return [(_sort_column(sort.field), sort.is_descending) for sort in sorts]


def _sort_column(name: str) -> str:
    field = LOG.find(name)
    column = field.sources[0] if field is not None else ""
    if column not in SORTABLE:
        raise BadRequestError(f"sort: cannot sort results by {name[:60]!r}")
    return column


def _find(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    where: Condition,
    order: Order,
    reach: Reach,
    counts_filtered: bool,
) -> _Findings:
    """All store reads of a search, within one reach. The page first: it is worth most."""
    found = _Findings([], {name: [] for name in request.facets})
    counting = engine.query_pool.submit(count_logs, engine, where, scope, reach=reach)
    try:
        found.rows = log_page(
            engine, where, scope, order, start=request.start, rows=request.rows, reach=reach
        )
        found.total = counting.result()
        found.is_counted = True
        found.facets = count_log_facets(
            engine,
            where,
            scope,
            request.facets,
            values=request.facet_values,
            is_rarest=request.is_rarest,
            reach=reach,
        )
        if counts_filtered:
            everywhere = count_logs(engine, where, EVERYTHING, reach=reach)
            found.hidden = max(0, everywhere - found.total)
        found.is_whole = True
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
    finally:
        _ended(counting)
    return found


def _ended(counting: "Future[int]") -> None:
    """Waits for a count whose result may not be needed."""
    counting.cancel()
    if not counting.cancelled():
        counting.exception()
