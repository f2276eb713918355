"""Searches threat reports (docs/api-threat-reports.md#threat-reports)."""

from collections.abc import Mapping
from typing import Any, Final

from vedette.model.threat.report_fields import REPORT, REPORT_LISTS
from vedette.query import Tree
from vedette.query.compile.document import REPORT as REPORT_DOCUMENT
from vedette.query.compile.rows_sql import RowCondition, compile_rows
from vedette.query.parse.query_params import carried_query
from vedette.query.parse.render import leaves
from vedette.search.document_search import (
    Findings,
    Kind,
    Results,
    search_documents,
    sort_columns,
)
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.threat.report_search import (
    SORTABLE,
    count_report_facets,
    search_reports,
)

REPORT_SORT_DEFAULT: Final = "last_update desc"


def report_id(row: Mapping[str, Any]) -> str:
    """Returns the API's name of a report: `<feed id>:<report id>`."""
    return f"{row['feed_id']}:{row['report_id']}"


def report_condition(
    engine: Engine, tree: Tree, settings: SearchSettings, now_us: int
) -> RowCondition:
    """Compiles a query to a condition, which excludes deleted reports unless the query tests
    `is_deleted`.

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
) -> Results:
    """Runs a search of reports.

    Raises QueryError with the position for a query that does not parse or check, and
    BadRequestError for a field that cannot be sorted by or is not a facet.
    """
    tree = carried_query(request.parts, REPORT)
    where = report_condition(engine, tree, settings, now_us)
    order = sort_columns(KIND, request.sorts)

    def find(reach: Reach) -> Findings:
        found = search_reports(
            engine,
            where,
            order,
            start=request.start,
            rows=request.rows,
            deadline_s=reach.left_s(),
        )
        facets = count_report_facets(engine, where, request.facets, deadline_s=reach.left_s())
        return Findings(found, facets)

    return search_documents(KIND, tree, request, settings, find, cancel)


KIND: Final = Kind(REPORT, REPORT_LISTS - {"ipaddr", "ipv6addr"}, report_id, SORTABLE)
