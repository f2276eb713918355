"""Explanation of queries."""

from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import scope_of_request
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_search
from vedette.api.schemas.parameters import described
from vedette.api.schemas.search.explanation import explanation_body
from vedette.api.schemas.search.search_parameters import search_request
from vedette.api.services import Services, services
from vedette.model.fields import PROCESS
from vedette.model.scope import Scope
from vedette.query.parse.query_params import carried_query
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.explain import explain

router = Router(tags=["queries"])

_QUERY: Final = described(
    ("q", "Query, as for the process search; svc.q.FIELD and svc.fq too"),
    ("svc.comprehensive_search", "true explains a comprehensive search"),
)


@router.get("/api/v1/query/explain", summary="How a query is read", openapi_extra=_QUERY)
async def explained(
    request: Request,
    here: Annotated[Services, Depends(services)],
    scope: Annotated[Scope, Depends(scope_of_request)],
) -> Response:
    """The parsed tree, what each term finds by itself, the partitions searched, the predicted
    cost, and hints. A query that cannot be read is the same 400 as in a search."""
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
