"""Alerts: search, details, groups (docs/alerts.md)."""

from functools import partial
from time import monotonic
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.store.read.detection.alert_facets import FACETS
from vedette.store.read.detection.alert_groups import GROUPINGS
from vedette.store.read.detection.alert_histogram import TIME_FIELDS
from vedette.web.alerts.alert_results_json import alert_results_body, groups_body
from vedette.web.alerts.models import whole_alert_body
from vedette.web.http.access import scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described
from vedette.web.processes.histogram_json import with_histogram
from vedette.web.processes.search_body_json import posted_pairs
from vedette.web.processes.search_parameters_json import FACETS_AND_TIMES, Pairs, search_request

router = Router(tags=["alerts"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_QUERY: Final = (
    ("q", "Query; empty or missing for everything; several are ANDed"),
    ("rows", f"Rows of a page; default 10, at most {limits.ROWS_MAX}"),
    ("start", "First row"),
    ("svc.q.FIELD", "A query for one field, ANDed"),
    ("svc.fq", "A further query, ANDed"),
    ("svc.fq.FIELD", "An exact value of one field"),
)
_SEARCH: Final = described(
    *_QUERY,
    ("sort", f"Field and asc or desc; default {alert_search.ALERT_SORT_DEFAULT}"),
    ("facet", "true to count facets; `facets` means the same"),
    ("facet.field", f"A facet: {', '.join(FACETS)}; default some of them"),
    *FACETS_AND_TIMES,
    (
        "svc.histogram",
        f"{', '.join(TIME_FIELDS)}: alerts by intervals of it, in the member histogram",
    ),
    array=("q", "facet.field"),
)
_GROUP: Final = described(
    *_QUERY,
    (
        "group.field",
        f"What groups are made of: {', '.join(GROUPINGS)}; up to three with commas; default source",
    ),
    ("by", "The same"),
    ("sort", "count, newest, severity or hosts, and asc or desc; default count desc"),
    array=("q",),
)
_FACETS_DEFAULT: Final = (
    "status",
    "alert_type",
    "alert_severity",
    "hostname",
    "group",
    "username",
    "process_name",
    "feed_name",
    "watchlist_name",
    "assigned_to",
    "created_time",
)
_GROUP_SORT_DEFAULT: Final = "count desc"
_GROUP_DEFAULT: Final = "source"


@router.get("/api/v1/alert", right=Right.READ, summary="Search alerts", openapi_extra=_SEARCH)
@router.get("/api/v2/alert", right=Right.READ, summary="Search alerts", openapi_extra=_SEARCH)
async def search(request: Request, here: Here, scope: Within) -> Response:
    """Returns matching alerts. The query language is that of processes, with alert fields. All
    parameters accept the prefix `cb.` instead of `svc.`."""
    return await _search(request, here, scope, request.query_params.multi_items())


@router.post(
    "/api/v2/alert",
    right=Right.READ,
    reads=True,
    summary="Search alerts, with parameters in the body",
)
async def search_posted(request: Request, here: Here, scope: Within) -> Response:
    """Body: a JSON object with scalars or lists of scalars as values, or a form. Parameters in the
    URL are added."""
    return await _search(request, here, scope, await posted_pairs(request))


async def _search(request: Request, here: Services, scope: Scope, pairs: Pairs) -> Response:
    wanted = search_request(pairs, alert_search.ALERT_SORT_DEFAULT, _FACETS_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        now_us, began = here.clock.now_us(), monotonic()
        found = alert_search.search(engine, scope, wanted, here.settings, now_us, engine.cancel)
        body = alert_results_body(found)
        if not wanted.histogram:
            return json_answer(body)
        count = partial(alert_search.histogram, engine, scope, wanted, here.settings, now_us)
        return json_answer(with_histogram(body, began, here, count))

    return await run_search(request, here, work)


@router.get("/api/v1/alert/group", right=Right.READ, summary="Group alerts", openapi_extra=_GROUP)
@router.get("/api/v2/alert/group", right=Right.READ, summary="Group alerts", openapi_extra=_GROUP)
async def group(request: Request, here: Here, scope: Within) -> Response:
    """Returns count, hosts, highest severity, newest alert and statuses of each group."""
    return await _grouped(request, here, scope, request.query_params.multi_items())


@router.post(
    "/api/v2/alert/group",
    right=Right.READ,
    reads=True,
    summary="Group alerts, with parameters in the body",
)
async def group_posted(request: Request, here: Here, scope: Within) -> Response:
    """Body: a JSON object or a form. Parameters in the URL are added."""
    return await _grouped(request, here, scope, await posted_pairs(request))


async def _grouped(request: Request, here: Services, scope: Scope, pairs: Pairs) -> Response:
    given = list(pairs)
    wanted = search_request(given, _GROUP_SORT_DEFAULT)
    fields = (value.strip() for name, value in given if name in ("group.field", "group", "by"))
    by = next((field for field in fields if field), _GROUP_DEFAULT)

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        found = alert_search.groups(engine, scope, wanted, by, here.settings, now_us)
        return json_answer(groups_body(found, by, wanted.start))

    return await run_search(request, here, work)


@router.get("/api/v1/alert/{alert_id}", right=Right.READ, summary="Get an alert")
@router.get("/api/v2/alert/{alert_id}", right=Right.READ, summary="Get an alert")
async def one(alert_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns an alert with its event, the text of the rule, and the history of its changes."""

    def work(engine: BoundedEngine) -> Response:
        return json_answer(whole_alert_body(alert_search.alert(engine, scope, alert_id)))

    return await run_lookup(request, here, work)
