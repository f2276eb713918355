"""Views of one process: tree, timeline, preview, hits of threat feeds."""

from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import scope_of_request
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.search.processes import segment_number, suppression_of
from vedette.api.routes.search.run import run_lookup
from vedette.api.schemas.parameters import described, whole_number
from vedette.api.schemas.search.event_lists import preview_body
from vedette.api.schemas.search.process import feed_hits_body
from vedette.api.schemas.search.search_parameters import search_request
from vedette.api.schemas.search.timeline import interval_of, moment_of, timeline_body
from vedette.api.schemas.search.tree import tree_body
from vedette.api.schemas.search.tree_token import cursor_of
from vedette.api.services import Services, services
from vedette.model.ids import checked_process_id
from vedette.model.scope import Scope
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.events.preview import PreviewRequest, preview
from vedette.search.events.timeline import TimelineRequest, timeline
from vedette.search.processes import process
from vedette.search.tree.descendants import TreeRequest
from vedette.search.tree.tree import tree

router = Router(tags=["processes"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

_TREE: Final = described(
    (
        "depth",
        f"Generations up and down; default {limits.TREE_DEPTH_DEFAULT}, "
        f"at most {limits.TREE_DEPTH_MAX}",
    ),
    (
        "max_nodes",
        f"Most descendants to answer; default {limits.TREE_NODES_DEFAULT}, "
        f"at most {limits.TREE_NODES_MAX}",
    ),
    ("continue", "The token of an earlier answer, for the descendants after it"),
)
_TIMELINE: Final = described(
    ("interval", "30s, 5m, 1h, 1d, minute, hour, or seconds; from 1s to 1d; fitting by default"),
    ("start", "Only events since this time (ISO 8601, UTC)"),
    ("end", "Only events until this time"),
)


@router.get(
    "/api/v1/process/{process_id}/tree", summary="The tree of a process", openapi_extra=_TREE
)
async def process_tree(process_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Ancestors and descendants as they were called at the time, and why others are missing."""
    query = request.query_params
    named = checked_process_id(process_id)
    depth = whole_number(query, "depth", limits.TREE_DEPTH_DEFAULT, most=limits.TREE_DEPTH_MAX)
    token = query.get("continue", "")
    wanted = TreeRequest(
        depth=depth,
        max_nodes=whole_number(
            query, "max_nodes", limits.TREE_NODES_DEFAULT, least=1, most=limits.TREE_NODES_MAX
        ),
        after=cursor_of(token, named, depth) if token else None,
    )

    def work(engine: BoundedEngine) -> Response:
        return json_answer(tree_body(tree(engine, scope, named, wanted, suppression_of(here))))

    return await run_lookup(request, here, work)


@router.get(
    "/api/v1/process/{process_id}/timeline",
    summary="Events of a process over time",
    openapi_extra=_TIMELINE,
)
async def process_timeline(
    process_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """How many events of each type, over all segments, in each interval that has any."""
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
    summary="A process with some of its events",
    openapi_extra=described(("q", "Query; what it finds comes first and is marked")),
)
async def process_preview(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """Segment 0 is the process over all its segments, 1 its earliest segment."""
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
    summary="Feed hits of a process",
)
async def threat_intel_hits(
    process_id: str, segment_id: str, request: Request, here: Here, scope: Within
) -> Response:
    """By feed; empty while no feed has anything on the process."""
    segment = segment_number(segment_id)
    named = checked_process_id(process_id)

    def work(engine: BoundedEngine) -> Response:
        return json_answer(feed_hits_body(process.threat_intel_hits(engine, scope, named, segment)))

    return await run_lookup(request, here, work)
