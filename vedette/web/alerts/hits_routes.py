"""`/api/v1/hit`: rule hits (docs/alerts.md#rule-hits)."""

from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.alerting.rule_hits import processed_seq
from vedette.model.scope import Scope
from vedette.search.alerts import hit_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.store.read.detection.hit_search import FACETS
from vedette.web.alerts.hit_models import HitSearch, hit_results_body
from vedette.web.http.access import scope_of_request
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.processes.search_body_json import posted_pairs
from vedette.web.processes.search_parameters_json import Pairs, search_request

router = Router(tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_PATH: Final = "/api/v1/hit"
_SEARCH: Final = described(
    ("q", "Query; empty or missing for all hits; several are joined by AND"),
    ("rows", f"Rows of a page; default 10, at most {limits.ROWS_MAX}"),
    ("start", "First row"),
    ("sort", f"Field and asc or desc; default {hit_search.HIT_SORT_DEFAULT}"),
    ("facet", "true to count facets"),
    ("facet.field", f"A facet: {', '.join(FACETS)}"),
    array=("q", "facet.field"),
)
_FACETS_DEFAULT: Final = ("rule_name", "level", "hostname", "username", "outcome", "time")


@router.get(
    _PATH,
    right=Right.READ,
    summary="Search rule hits",
    openapi_extra=_SEARCH,
    response_model=HitSearch,
)
async def search_hits(request: Request, here: Here, scope: Within) -> Response:
    """Finds the hits of rules, with or without an alert, by the query language of processes and the
    fields of hits. A hit is kept as long as its event."""
    return await _search(request, here, scope, request.query_params.multi_items())


@router.post(
    _PATH,
    right=Right.READ,
    reads=True,
    summary="Search rule hits, parameters in the body",
    response_model=HitSearch,
)
async def search_hits_posted(request: Request, here: Here, scope: Within) -> Response:
    """Takes the parameters as a JSON object, whose values are scalars or lists of scalars, or as a
    form. Parameters of the URL count too."""
    return await _search(request, here, scope, await posted_pairs(request))


async def _search(request: Request, here: Services, scope: Scope, pairs: Pairs) -> Response:
    wanted = search_request(pairs, hit_search.HIT_SORT_DEFAULT, _FACETS_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        seq = processed_seq(here.database)
        results = hit_search.search(
            engine,
            scope,
            wanted,
            here.settings,
            seq,
            here.clock.now_us(),
            engine.cancel,
        )
        return json_answer(hit_results_body(results))

    return await run_search(request, here, work)
