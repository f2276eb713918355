"""Processes: search, summary, segments, events (docs/http-api.md#searching-and-reading-processes).
Their stories: `process_views.py`."""

from functools import partial
from time import monotonic
from typing import Annotated, Any, Final

from fastapi import Depends, Path, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.run import run_lookup, run_search, with_histogram
from vedette.api.schemas.parameters import bounded_number, described, whole_number
from vedette.api.schemas.search.event_lists import (
    EVENT_LISTS,
    SUPPRESSION_SINCE,
    EventVersion,
    process_events_body,
)
from vedette.api.schemas.search.process import process_body, segments_body, summary_body
from vedette.api.schemas.search.search_parameters import (
    FACETS_AND_TIMES,
    Pairs,
    body_pairs,
    search_request,
)
from vedette.api.schemas.search.search_results import process_results_body
from vedette.api.services import Services, services
from vedette.errors import NotFoundError
from vedette.model.ids import checked_process_id
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.processes import process
from vedette.search.processes.histogram import HistogramRequest, process_histogram
from vedette.search.processes.process_search import search_processes
from vedette.search.processes.suppression import Suppression
from vedette.state.policy import groups
from vedette.store.read.segment_facets import FACETS
from vedette.store.read.segment_histogram import TIME_FIELDS

router = Router(tags=["processes"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_SEARCH: Final = described(
    ("q", "Query; empty or missing for everything; several are ANDed"),
    ("rows", f"Rows of a page; default 10, at most {limits.ROWS_MAX}"),
    ("start", "First row"),
    ("sort", "Field and asc or desc; default last_update desc"),
    ("svc.q.FIELD", "A query for one field, ANDed"),
    ("svc.fq", "A further query, ANDed"),
    ("svc.fq.FIELD", "An exact value of one field"),
    ("svc.min_last_update", "Earliest last_update; also max_, and both for last_server_update"),
    ("facet", "true counts the values of the fields named by facet.field"),
    ("facet.field", f"One of {', '.join(FACETS)}; repeatable"),
    ("svc.facet.fuzzy", "true allows estimates; default is the setting fuzzy_facets"),
    *FACETS_AND_TIMES,
    (
        "svc.histogram",
        f"{', '.join(TIME_FIELDS)}: results by intervals of it, in the member histogram",
    ),
    (
        "svc.histogram.by",
        f"Facet of which the {limits.HISTOGRAM_STACKS} most frequent values are counted apart",
    ),
    ("svc.group", "Only the first result for each value of this field; id for one per process"),
    ("svc.comprehensive_search", "true looks for events in all segments of a process"),
    ("svc.before", "read.since of an incomplete answer: what it did not read, older than that"),
    array=("q", "facet.field"),
)

_EVENTS: Final = described(
    ("svc.event_start", "Events to leave out, in order of time"),
    ("svc.event_count", "Most events to answer; default is the setting process_events_max"),
)


@router.get("/api/v1/process", summary="Search processes", openapi_extra=_SEARCH)
async def search(request: Request, here: Here, scope: Within) -> Response:
    """The query language is that of the search box. `cb.` may stand for `svc.` everywhere."""
    return await _search(request, here, scope, request.query_params.multi_items())


@router.post("/api/v1/process", summary="Search processes, parameters in a JSON body")
async def search_posted(
    request: Request,
    here: Here,
    scope: Within,
    body: Annotated[dict[str, Any], Depends(json_object)],
) -> Response:
    """Every value is a scalar or a list of scalars; parameters of the URL count too."""
    return await _search(
        request, here, scope, [*body_pairs(body), *request.query_params.multi_items()]
    )


async def _search(request: Request, here: Services, scope: Scope, pairs: Pairs) -> Response:
    wanted = search_request(pairs)

    def work(engine: BoundedEngine) -> Response:
        now_us, began = here.clock.now_us(), monotonic()
        found = search_processes(engine, scope, wanted, here.settings, now_us, engine.cancel)
        body = process_results_body(found)
        if not wanted.histogram:
            return json_answer(body)
        asked = HistogramRequest(
            wanted, wanted.histogram, buckets=wanted.buckets, by=wanted.histogram_by
        )
        count = partial(process_histogram, engine, scope, asked, here.settings, now_us)
        return json_answer(
            with_histogram(body, began, here, lambda left_s: count(engine.cancel, left_s))
        )

    return await run_search(request, here, work)


@router.get("/api/v1/process/{process_id}/segment", summary="Segments of a process")
async def segments(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(segments_body(process.segments(engine, scope, named)))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v1/process/{process_id}/{segment_id}",
    summary="A process with its parent, siblings and children",
    openapi_extra=described(
        ("children", f"Most children to list; default {limits.CHILDREN_DEFAULT}")
    ),
)
async def summary(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Segment 0 is the process over all its segments, 1 its earliest segment."""
    children_max = whole_number(
        request.query_params, "children", limits.CHILDREN_DEFAULT, most=limits.CHILDREN_MAX
    )
    segment = segment_number(segment_id)
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        suppression = suppression_of(here)
        found = process.summary(engine, scope, named, segment, children_max, suppression)
        return json_answer(summary_body(found))

    return await run_lookup(request, here, work)


@router.get("/api/v2/process/{process_id}/{segment_id}", summary="A process alone")
async def flat_summary(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Segment 0 is the process over all its segments, 1 its earliest segment."""
    segment = segment_number(segment_id)
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(process_body(process.flat_summary(engine, scope, named, segment)))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v{version}/process/{process_id}/{segment_id}/event",
    summary="Events of a process",
    openapi_extra=_EVENTS,
)
async def events(
    version: Annotated[str, Path(description="1, 2, 3 or 4: the form of connections and children")],
    process_id: str,
    segment_id: str,
    request: Request,
    here: Here,
    scope: Within,
) -> Response:
    """The lists of docs/event-strings.md. Segment 0 merges all segments, 1 is the earliest."""
    query = request.query_params
    most = here.settings.process_events_max
    window = process.EventWindow(
        start=_prefixed_number(query, "event_start", 0),
        count=min(_prefixed_number(query, "event_count", most), most),
    )
    segment = segment_number(segment_id)
    form = _event_version(version)
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        suppression = suppression_of(here) if form >= SUPPRESSION_SINCE else None
        found = process.events(engine, scope, named, segment, window, suppression)
        return json_answer(process_events_body(found, form))

    return await run_lookup(request, here, work)


def _event_version(text: str) -> EventVersion:
    for version in EVENT_LISTS:
        if text == str(version):
            return version
    raise NotFoundError(f"there is no version {text[:20]!r} of this route")


def _prefixed_number(query: QueryParams, name: str, default: int) -> int:
    prefixed = next((p for p in ("svc.", "cb.") if query.get(p + name)), "svc.")
    return whole_number(query, prefixed + name, default)


def segment_number(text: str) -> int:
    """The segment of a path. Raises BadRequestError."""
    return bounded_number("segment_id", text)


def suppression_of(here: Services) -> Suppression:
    """What the sensor groups suppress now."""
    return Suppression(groups.suppressing(here.database))
