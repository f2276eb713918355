"""Views of a process: tree, timeline, preview, threat feed hits."""

from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.limits import Limit
from vedette.model.ids import checked_process_id
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.events.preview import PreviewRequest, preview
from vedette.search.events.timeline import TimelineRequest, timeline
from vedette.search.processes import process
from vedette.search.tree.descendants import TreeRequest
from vedette.search.tree.tree import tree
from vedette.web.http.access import scope_of_request
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import described, whole_number
from vedette.web.processes.analysis.event_lists_json import preview_body
from vedette.web.processes.analysis.timeline_json import interval_of, moment_of, timeline_body
from vedette.web.processes.analysis.tree_json import tree_body
from vedette.web.processes.analysis.tree_token import cursor_of
from vedette.web.processes.models import feed_hits_body
from vedette.web.processes.routes import segment_number, suppression_of
from vedette.web.processes.search_parameters_json import search_request

TREE_DEPTH_DEFAULT: Limit[int] = 8
"""Generations below a process that its tree shows if `depth` is missing."""

TREE_DEPTH_MAX: Limit[int] = 64
"""Generations of a tree, up and down. Each costs one or two queries to the store. Real process
chains are shorter than 20."""

TREE_NODES_DEFAULT: Limit[int] = 1_000
"""Descendants per response if `max_nodes` is missing."""

TREE_NODES_MAX: Limit[int] = 10_000
"""Descendants per response, 5 MB. The continuation token returns the rest."""


router = Router(tags=["processes"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_TREE: Final = described(
    (
        "depth",
        f"Generations up and down; default {TREE_DEPTH_DEFAULT}, at most {TREE_DEPTH_MAX}",
    ),
    (
        "max_nodes",
        f"Most descendants to answer; default {TREE_NODES_DEFAULT}, at most {TREE_NODES_MAX}",
    ),
    ("continue", "The token of an earlier answer, for the descendants after it"),
)
_TIMELINE: Final = described(
    ("interval", "30s, 5m, 1h, 1d, minute, hour, or seconds; from 1s to 1d; fitting by default"),
    ("start", "Only events since this time (ISO 8601, UTC)"),
    ("end", "Only events until this time"),
)


@router.get(
    "/api/v1/process/{process_id}/tree",
    right=Right.READ,
    summary="Get the tree of a process",
    openapi_extra=_TREE,
)
async def process_tree(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Returns ancestors and descendants, labeled as they were reported when they started. A process
    without records states why it is missing."""
    query = request.query_params
    named = checked_process_id(process_id)
    depth = whole_number(query, "depth", TREE_DEPTH_DEFAULT, most=TREE_DEPTH_MAX)
    token = query.get("continue", "")
    wanted = TreeRequest(
        depth=depth,
        max_nodes=whole_number(
            query, "max_nodes", TREE_NODES_DEFAULT, least=1, most=TREE_NODES_MAX
        ),
        after=cursor_of(token, named, depth) if token else None,
    )

    def work(engine: BoundedEngine) -> Response:
        return json_answer(tree_body(tree(engine, scope, named, wanted, suppression_of(here))))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v1/process/{process_id}/timeline",
    right=Right.READ,
    summary="Count events of a process over time",
    openapi_extra=_TIMELINE,
)
async def process_timeline(
    process_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Returns counts by event type over all segments, for each interval with events."""
    query = request.query_params
    wanted = TimelineRequest(
        interval_s=interval_of(query.get("interval", "")),
        start_us=moment_of("start", query.get("start", "")),
        end_us=moment_of("end", query.get("end", "")),
    )
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(timeline_body(timeline(engine, scope, named, wanted)))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v1/process/{process_id}/{segment_id}/preview",
    right=Right.READ,
    summary="Preview a process with some of its events",
    openapi_extra=described(("q", "Query; what it finds comes first and is marked")),
)
async def process_preview(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Returns the process with some of its events; events that match `q` come first and are
    highlighted. Segment 0 covers all segments of the process, segment 1 is its earliest."""
    wanted = PreviewRequest(
        checked_process_id(process_id),
        segment_number(segment_id),
        search_request(request.query_params.multi_items()).parts,
    )

    def work(engine: BoundedEngine) -> Response:
        now_us = here.clock.now_us()
        found = preview(engine, scope, wanted, here.settings, now_us, engine.cancel)
        return json_answer(preview_body(found))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v1/process/{process_id}/{segment_id}/threat_intel_hits",
    right=Right.READ,
    summary="List feed hits of a process",
)
async def threat_intel_hits(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Returns hits by feed; empty if no feed has a hit."""
    segment = segment_number(segment_id)
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(feed_hits_body(process.threat_intel_hits(engine, scope, named, segment)))

    return await run_lookup(request, here, work)
