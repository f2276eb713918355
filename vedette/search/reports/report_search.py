"""Searching threat reports (docs/http-api.md#threat-reports)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vedette.errors import BadRequestError, UnavailableError
from vedette.model.threat.report_fields import REPORT, REPORT_LISTS
from vedette.query import Tree, terms
from vedette.query.compile.document import REPORT as REPORT_DOCUMENT
from vedette.query.compile.document import Document
from vedette.query.compile.rows_sql import RowCondition, compile_rows
from vedette.query.highlight import markers
from vedette.query.parse.query_params import carried_query
from vedette.query.parse.render import leaves
from vedette.search.processes.highlights import Highlight, Highlights, patterns_by_column
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest, Sort
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.segment_search import Found
from vedette.store.read.threat.report_search import (
    SORTABLE,
    Counts,
    count_report_facets,
    search_reports,
)

REPORT_SORT_DEFAULT: Final = "last_update desc"

Row = Mapping[str, Any]
"""A report by column name (`model/threat/report_columns.py`)."""

_COMPLETE_ROWS: Final = Document(frozenset())
"""Rows of reports have all their lists, so no values have to be read for highlights."""

_LISTED: Final = REPORT_LISTS - {"ipaddr", "ipv6addr"}


@dataclass(frozen=True, slots=True)
class ReportResults:
    """The answer to a search of reports."""

    total: int
    start: int
    terms: Sequence[str]
    is_incomplete: bool
    """Whether the deadline passed; then there are no results."""
    elapsed_s: float
    rows: Sequence[Row] = ()
    highlights: Sequence[Highlight] = ()
    facets: Counts = field(default_factory=dict)


def report_id(row: Row) -> str:
    """By which the API names a report: `<feed id>:<report id>`."""
    return f"{row['feed_id']}:{row['report_id']}"


def report_condition(
    engine: Engine, tree: Tree, settings: SearchSettings, now_us: int
) -> RowCondition:
    """What a query means; deleted reports are found only where it asks for them.

    Raises QueryError.
    """
    where = compile_rows(guarded_check(engine, tree, REPORT, settings, now_us), REPORT_DOCUMENT)
    if any(leaf.field is not None and leaf.field.lower() == "is_deleted" for leaf in leaves(tree)):
        return where
    return RowCondition(f"NOT is_deleted AND ({where.sql})", where.params)


def search(
    engine: Engine,
    request: SearchRequest,
    settings: SearchSettings,
    now_us: int,
    cancel: CancelToken | None = None,
) -> ReportResults:
    """The answer to a search of reports.

    Raises QueryError for a query that cannot be understood, with the position, and BadRequestError
    for a field that cannot be sorted by, or is not a facet.
    """
    began = time.monotonic()
    tree = carried_query(request.parts, REPORT)
    where = report_condition(engine, tree, settings, now_us)
    order = [_order(sort) for sort in request.sorts]
    reach = Reach.within(settings.search_deadline_s)
    try:
        found = search_reports(
            engine,
            where,
            order,
            start=request.start,
            rows=request.rows,
            deadline_s=reach.left_s(),
        )
        facets = count_report_facets(engine, where, request.facets, deadline_s=reach.left_s())
        is_incomplete = False
    except UnavailableError as error:
        if error.reason != "deadline":
            raise
        found, facets, is_incomplete = Found(0, []), {name: [] for name in request.facets}, True
    left_s = began + settings.search_deadline_s - time.monotonic()
    return ReportResults(
        rows=found.rows,
        total=found.total,
        start=request.start,
        terms=terms(tree),
        highlights=_highlights(tree, found.rows, Reach.within(left_s, cancel=cancel)),
        facets=facets,
        is_incomplete=is_incomplete,
        elapsed_s=time.monotonic() - began,
    )


def _order(sort: Sort) -> tuple[str, bool]:
    known = REPORT.find(sort.field)
    column = known.sources[0] if known is not None else ""
    if column not in SORTABLE:
        raise BadRequestError(f"sort: results cannot be sorted by {sort.field[:60]!r}")
    return column, sort.is_descending


def _highlights(tree: Tree, rows: Sequence[Row], reach: Reach) -> list[Highlight]:
    by_column = patterns_by_column(markers(tree, REPORT, document=_COMPLETE_ROWS)) if rows else {}
    if not by_column:
        return []
    found = Highlights(by_column, reach)
    for row in rows:
        for column in by_column:
            for value in row[column] if column in _LISTED else [row[column]]:
                found.add(column, value, report_id(row))
    return found.entries()
