"""Process analysis: the page around tree, timeline and events, which its modules read from the
API themselves; here only what heads it."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.routes.search.run import run_lookup
from vedette.api.schemas.parameters import whole_number
from vedette.api.services import Services, services
from vedette.console.query_terms import phrase
from vedette.console.render import render
from vedette.console.screens.sensors import why_not_isolated
from vedette.errors import NotFoundError
from vedette.model.ids import checked_process_id, names_process
from vedette.model.scope import Scope
from vedette.search.binaries import binary_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.processes import process
from vedette.search.processes.process_columns import Row

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/process/{process_id}", summary="Process analysis")
async def process_analysis(
    process_id: str, request: Request, here: Here, scope: Within
) -> Response:
    named = checked_process_id(process_id)
    segment = whole_number(request.query_params, "seg", 0)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        row = process.flat_summary(engine, scope, named, segment)
        why = why_not_isolated(request, here, scope, row["sensor_id"])
        return {"row": row, "why": why, **_binary(engine, scope, row["process_md5"])}

    found = await run_lookup(request, here, work)
    parent_id = found["row"]["parent_id"]
    return render(
        request,
        "screens/process_analysis.html",
        segment=segment,
        events_most=limits.ANALYSIS_EVENTS,
        has_parent=names_process(parent_id),
        parent_href=f"/ui/process/{parent_id}",
        watched=_watched(found["row"]),
        **found,
    )


def _watched(row: Row) -> str:
    """A query that finds processes like this one, to begin a watchlist with."""
    parts = [phrase("process_name", row["process_name"])]
    if row["parent_name"]:
        parts.append(phrase("parent_name", row["parent_name"]))
    return " ".join(parts)


def _binary(engine: BoundedEngine, scope: Scope, md5: str) -> dict[str, Any]:
    """What is known of the file of a process."""
    if not md5:
        return {"binary": None, "hosts": 0}
    try:
        binary = binary_search.summary(engine, scope, md5)
    except NotFoundError:
        return {"binary": None, "hosts": 0}
    return {"binary": binary, "hosts": binary["host_count"]}
