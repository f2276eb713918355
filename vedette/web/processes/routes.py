"""Search, summary, segments and events (docs/api-processes.md#searching-and-reading-processes).
`process_views_routes.py` has tree, timeline and preview."""

from functools import partial
from time import monotonic
from typing import Annotated, Final

from fastapi import Depends, Path, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from vedette import limits
from vedette.errors import NotFoundError
from vedette.limits import Limit
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
from vedette.web.http.access import scope_of_request
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup, run_search
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import bounded_number, described, whole_number
from vedette.web.processes.analysis.event_lists_json import (
    EVENT_LISTS,
    SUPPRESSION_SINCE,
    EventVersion,
    process_events_body,
)
from vedette.web.processes.histogram_json import with_histogram
from vedette.web.processes.models import process_body, segments_body, summary_body
from vedette.web.processes.search_body_json import posted_pairs
from vedette.web.processes.search_parameters_json import FACETS_AND_TIMES, Pairs, search_request
from vedette.web.processes.search_results_json import process_results_body

CHILDREN_DEFAULT: Limit[int] = 15
"""Children in a process summary if `children` is missing: the number that the public clients
request."""

CHILDREN_MAX: Limit[int] = 10_000
"""Maximum of `children` in a process summary."""


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


@router.get("/api/v1/process", right=Right.READ, summary="Search processes", openapi_extra=_SEARCH)
async def search(request: Request, here: Here, scope: Within) -> Response:
    """Returns matching processes in the query language of the console. All parameters accept the
    prefix `cb.` instead of `svc.`."""
    return await _search(request, here, scope, request.query_params.multi_items())


@router.post(
    "/api/v1/process",
    right=Right.READ,
    reads=True,
    summary="Search processes, with parameters in the body",
)
async def search_posted(request: Request, here: Here, scope: Within) -> Response:
    """Body: a JSON object with scalars or lists of scalars as values, or a form. Parameters in the
    URL are added."""
    return await _search(request, here, scope, await posted_pairs(request))


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


@router.get(
    "/api/v1/process/{process_id}/segment", right=Right.READ, summary="List segments of a process"
)
async def segments(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(segments_body(process.segments(engine, scope, named)))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v1/process/{process_id}/{segment_id}",
    right=Right.READ,
    summary="Get a process with its parent, siblings and children",
    openapi_extra=described(("children", f"Most children to list; default {CHILDREN_DEFAULT}")),
)
async def summary(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Segment 0 covers all segments of the process, segment 1 is its earliest."""
    children_max = whole_number(
        request.query_params, "children", CHILDREN_DEFAULT, most=CHILDREN_MAX
    )
    segment = segment_number(segment_id)
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        suppression = suppression_of(here)
        found = process.summary(engine, scope, named, segment, children_max, suppression)
        return json_answer(summary_body(found))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v2/process/{process_id}/{segment_id}",
    right=Right.READ,
    summary="Get a process without its relatives",
)
async def flat_summary(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Segment 0 covers all segments of the process, segment 1 is its earliest."""
    segment = segment_number(segment_id)
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(process_body(process.flat_summary(engine, scope, named, segment)))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v{version}/process/{process_id}/{segment_id}/event",
    right=Right.READ,
    summary="List events of a process",
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
    """Returns event lists in the formats of docs/event-strings.md. Segment 0 covers all segments of
    the process, segment 1 is its earliest."""
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
    raise NotFoundError(f"unknown version {text[:20]!r} of this route")


def _prefixed_number(query: QueryParams, name: str, default: int) -> int:
    prefixed = next((p for p in ("svc.", "cb.") if p + name in query), "svc.")
    return whole_number(query, prefixed + name, default)


def segment_number(text: str) -> int:
    """Parses the segment number in a path. Raises BadRequestError."""
    return bounded_number("segment_id", text)


def suppression_of(here: Services) -> Suppression:
    """Returns the current suppression settings of all sensor groups."""
    return Suppression(groups.suppressing(here.database))
