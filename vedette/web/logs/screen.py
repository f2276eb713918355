"""The screen of event records: a query and a time range, the newest records, facets beside them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import QueryError
from vedette.model.log_fields import LOG
from vedette.model.scope import Scope
from vedette.query.parse.query_params import carried_query
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.logs.log_search import LogResults, search_logs
from vedette.search.search_request import SearchRequest, Sort
from vedette.web.fleet.screen import knows_no_host
from vedette.web.http.access import scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import whole_number
from vedette.web.logs.log_json import log_body
from vedette.web.page.query_terms import narrowed
from vedette.web.page.render import render
from vedette.web.page.time_range import CHOICES, TimeRange, label_of, time_range
from vedette.web.page.view import View, view_of

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

FACETS: Final[Mapping[str, tuple[str, str]]] = {
    "channel": ("Channel", "channel"),
    "event_id": ("Event", "event_id"),
    "hostname": ("Host", "hostname"),
    "level": ("Level", "level"),
    "user": ("User", "user"),
    "target_user": ("Target user", "target_user"),
    "logon_type": ("Logon type", "logon_type"),
    "src_ip": ("Source address", "src_ip"),
    "service": ("Service", "service"),
    "task": ("Task", "task"),
    "threat": ("Threat", "threat"),
}
"""Name of a facet → its heading, and the field of the query language that it narrows by."""

FACET_ENDS: Final = "/ui/_/log/rare"
_RANGE_DEFAULT: Final = "-24h"


@router.get("/ui/log", right=Right.READ, summary="Logs")
async def search(request: Request, here: Here, scope: Within) -> Response:
    """The newest records that match, with all their data."""
    now_us = here.clock.now_us()
    span = _range(request, now_us)
    wanted = _wanted(request, span, tuple(FACETS))

    def work(engine: BoundedEngine) -> dict[str, Any]:
        try:
            found = search_logs(engine, scope, wanted, here.settings, now_us, engine.cancel)
        except QueryError as error:
            return {"problem": error, "found": None, "rows": [], "state": {}, "is_empty": False}
        return {
            "problem": None,
            "found": found,
            "rows": list(map(log_body, found.rows)),
            "state": narrowed(carried_query(wanted.parts, LOG)),
            "is_empty": not found.total and knows_no_host(here, scope),
        }

    return render(
        request,
        "logs/logs.html",
        q=request.query_params.get("q", ""),
        range=span,
        choices=CHOICES,
        label_of=label_of,
        start=wanted.start,
        page_rows=limits.PAGE_ROWS,
        params=[*wanted.parts, ("rows", str(wanted.rows)), ("start", str(wanted.start))],
        view=_view(request),
        ends=FACET_ENDS,
        shown_facets=FACETS,
        items=None,
        values_shown=limits.FACET_VALUES_SHOWN,
        shown=_value_text,
        **await run_search(request, here, work),
    )


@router.get(FACET_ENDS, right=Right.READ, summary="The rare end of one facet of records")
async def rare(request: Request, here: Here, scope: Within) -> Response:
    """The values that occur least; with `most`, those that occur most, as many as are counted."""
    now_us = here.clock.now_us()
    name = request.query_params.get("facet", "")
    facets = (name,) if name in FACETS else ()
    is_most = "most" in request.query_params
    wanted = _wanted(request, _range(request, now_us), facets)
    wanted = replace(wanted, rows=0, start=0, is_rarest=not is_most)

    def work(engine: BoundedEngine) -> LogResults:
        return search_logs(engine, scope, wanted, here.settings, now_us, engine.cancel)

    found = await run_search(request, here, work)
    values = found.facets.get(name, [])
    return render(
        request,
        "processes/facet_values.html",
        view=_view(request),
        ends=FACET_ENDS,
        name=name,
        field=FACETS[name][1] if facets else "",
        shown=_value_text,
        values=values if is_most else values[: limits.FACET_VALUES_SHOWN],
        state=narrowed(carried_query(wanted.parts, LOG)),
        most=values[0][1] if values and is_most else 1,
        more=0,
        is_rare=not is_most,
    )


def _range(request: Request, now_us: int) -> TimeRange:
    return time_range(request.query_params.get("t", "") or _RANGE_DEFAULT, now_us)


def _wanted(request: Request, span: TimeRange, facets: tuple[str, ...]) -> SearchRequest:
    query = request.query_params.get("q", "")
    parts = [("q", query)] if query.strip() else []
    if span.condition:
        parts.append(("svc.q.time", span.condition))
    return SearchRequest(
        tuple(parts),
        limits.PAGE_ROWS,
        whole_number(request.query_params, "start", 0),
        (Sort("time", is_descending=True),),
        facets=facets,
    )


def _view(request: Request) -> View:
    return view_of(request, rows_default=limits.PAGE_ROWS, rows_max=limits.PAGE_ROWS)


def _value_text(_name: str, value: str | int) -> str:
    return str(value)
