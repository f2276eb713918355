"""Explanation of queries."""

from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.model.fields import PROCESS
from vedette.model.scope import Scope
from vedette.query.parse.query_params import carried_query
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.explain import explain
from vedette.web.http.access import scope_of_request
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.processes.explanation_json import explanation_body
from vedette.web.processes.search_parameters_json import search_request

router = Router(tags=["queries"])

_QUERY: Final = described(
    ("q", "Query, as for the process search; svc.q.FIELD and svc.fq too"),
    ("svc.comprehensive_search", "true explains a comprehensive search"),
)


@router.get(
    "/api/v1/query/explain", right=Right.READ, summary="Explain a query", openapi_extra=_QUERY
)
async def explained(
    request: Request,
    here: Annotated[Services, Depends(services)],
    scope: Annotated[Scope, Depends(scope_of_request)],
) -> Response:
    """Returns the parsed tree, the number of segments that each term matches, the partitions
    searched, the predicted cost, and hints. An invalid query returns the same error 400 as in a
    search."""
    wanted = search_request(request.query_params.multi_items())

    def work(engine: BoundedEngine) -> Response:
        tree = carried_query(wanted.parts, PROCESS)
        found = explain(
            engine,
            scope,
            tree,
            here.settings,
            here.clock.now_us(),
            is_comprehensive=wanted.is_comprehensive,
        )
        return json_answer(explanation_body(found))

    return await run_search(request, here, work)
