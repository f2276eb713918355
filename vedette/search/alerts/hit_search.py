"""Searches rule hits (docs/alerts.md#rule-hits)."""

from typing import Final

from vedette.model.hit_fields import HIT, HIT_LISTS
from vedette.model.scope import EVERYTHING, Scope
from vedette.query.compile.condition import Condition
from vedette.query.compile.document import HIT as HIT_DOCUMENT
from vedette.query.compile.rows_sql import compile_rows
from vedette.query.parse.query_params import carried_query
from vedette.search.document_search import Findings, Kind, Results, search_documents, sort_columns
from vedette.search.processes.process_search import SearchSettings
from vedette.search.query_guards import guarded_check
from vedette.search.search_request import SearchRequest
from vedette.store.engine.cancel import CancelToken
from vedette.store.engine.client import Engine
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.detection.hit_search import SORTABLE, count_hit_facets, search_hits

HIT_SORT_DEFAULT: Final = "time desc"

KIND: Final = Kind(HIT, HIT_LISTS, lambda row: str(row["alert_id"]), SORTABLE)


def search(
    engine: Engine,
    scope: Scope,
    request: SearchRequest,
    settings: SearchSettings,
    processed_seq: int,
    now_us: int,
    cancel: CancelToken | None = None,
) -> Results:
    """Returns the answer to a search of rule hits. `processed_seq` is the newest commit whose hits
    were processed.

    A search that takes longer than its deadline has no results and `is_incomplete`. Raises
    QueryError for a query that cannot be understood, with the position, and BadRequestError for a
    field that cannot be sorted by, or is not a facet.
    """
    tree = carried_query(request.parts, HIT)
    compiled = compile_rows(guarded_check(engine, tree, HIT, settings, now_us), HIT_DOCUMENT)
    where = Condition(compiled.sql, compiled.params)
    order = sort_columns(KIND, request.sorts)

    def find(reach: Reach) -> Findings:
        found = search_hits(
            engine,
            where,
            scope,
            order,
            processed_seq,
            start=request.start,
            rows=request.rows,
            reach=reach,
        )
        facets = count_hit_facets(
            engine,
            where,
            scope,
            request.facets,
            processed_seq,
            values=request.facet_values,
            is_rarest=request.is_rarest,
            reach=reach,
        )
        hidden = 0
        if not scope.sees_all and settings.count_filtered_results:
            everything = search_hits(
                engine, where, EVERYTHING, order, processed_seq, start=0, rows=0, reach=reach
            )
            hidden = everything.total - found.total
        return Findings(found, facets, hidden)

    return search_documents(KIND, tree, request, settings, find, cancel)
