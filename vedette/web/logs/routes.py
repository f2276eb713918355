"""Stored event records: search, facets, histogram, explanation (docs/logs.md)."""

from functools import partial
from time import monotonic
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.model.ids import checked_process_id
from vedette.model.log_fields import LOG
from vedette.model.scope import Scope
from vedette.query.parse.query_params import carried_query
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.logs.log_explain import explain_logs
from vedette.search.logs.log_search import LOG_SORT_DEFAULT, log_histogram, search_logs
from vedette.search.logs.process_session import process_logon
from vedette.store.plan.search_bounds import Reach
from vedette.store.read.logs.log_facets import FACETS, TIME_FIELDS
from vedette.web.http.access import scope_of_request
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.logs.log_json import log_explanation_body, log_results_body, process_logon_body
from vedette.web.processes.histogram_json import with_histogram
from vedette.web.processes.search_body_json import posted_pairs
from vedette.web.processes.search_parameters_json import FACETS_AND_TIMES, Pairs, search_request

router = Router(tags=["logs"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_QUERY: Final = (
    ("q", "Query; empty or missing for everything; several are ANDed"),
    ("svc.q.FIELD", "A query for one field, ANDed"),
    ("svc.fq", "A further query, ANDed"),
    ("svc.fq.FIELD", "An exact value of one field"),
)
_SEARCH: Final = described(
    *_QUERY,
    ("rows", f"Rows of a page; default 10, at most {limits.ROWS_MAX}"),
    ("start", "First row"),
    ("sort", f"Field and asc or desc; default {LOG_SORT_DEFAULT}"),
    ("facet", "true counts the values of the fields named by facet.field"),
    ("facet.field", f"One of {', '.join(FACETS)}; repeatable; default some of them"),
    *FACETS_AND_TIMES,
    (
        "svc.histogram",
        f"{', '.join(TIME_FIELDS)}: records by intervals of it, in the member histogram",
    ),
    array=("q", "facet.field"),
)
FACETS_DEFAULT: Final = (
    "channel",
    "event_id",
    "hostname",
    "level",
    "user",
    "target_user",
    "logon_type",
    "src_ip",
    "provider",
)


@router.get("/api/v1/log", right=Right.READ, summary="Search event records", openapi_extra=_SEARCH)
async def search(request: Request, here: Here, scope: Within) -> Response:
    """The query language is that of processes, with fields of records. `cb.` may stand for `svc.`
    everywhere."""
    return await _search(request, here, scope, request.query_params.multi_items())


@router.post(
    "/api/v1/log",
    right=Right.READ,
    reads=True,
    summary="Search event records, parameters in the body",
)
async def search_posted(request: Request, here: Here, scope: Within) -> Response:
    """A JSON object, whose values are scalars or lists of scalars, or a form; parameters of the
    URL count too."""
    return await _search(request, here, scope, await posted_pairs(request))


async def _search(request: Request, here: Services, scope: Scope, pairs: Pairs) -> Response:
    wanted = search_request(pairs, LOG_SORT_DEFAULT, FACETS_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        now_us, began = here.clock.now_us(), monotonic()
        found = search_logs(engine, scope, wanted, here.settings, now_us, engine.cancel)
        body = log_results_body(found)
        if not wanted.histogram:
            return json_answer(body)
        count = partial(log_histogram, engine, scope, wanted, here.settings, now_us)
        return json_answer(with_histogram(body, began, here, count))

    return await run_search(request, here, work)


@router.get(
    "/api/v1/log/explain",
    right=Right.READ,
    summary="How a query for event records is read",
    openapi_extra=described(*_QUERY, array=("q",)),
)
async def explained(request: Request, here: Here, scope: Within) -> Response:
    """The parsed tree, what each term matches by itself, and hints. A query that cannot be read is
    the same 400 as in a search."""
    wanted = search_request(request.query_params.multi_items(), LOG_SORT_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        tree = carried_query(wanted.parts, LOG)
        now_us = here.clock.now_us()
        return json_answer(
            log_explanation_body(explain_logs(engine, scope, tree, here.settings, now_us))
        )

    return await run_search(request, here, work)


@router.get(
    "/api/v1/process/{process_id}/logon", right=Right.READ, summary="The logon of a process"
)
async def logon(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    """The session that a process runs in, and the record of its logon: type, address and
    workstation. `logon` is null where no record of it is stored."""
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        reach = Reach.within(here.settings.search_deadline_s)
        found = process_logon(engine, scope, named, here.clock.now_us(), reach)
        return json_answer(process_logon_body(found))

    return await run_lookup(request, here, work)
