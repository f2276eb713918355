"""Banned programs: what is banned, why, until when, and what it blocked."""

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette.api.http.access import scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.model.scope import Scope
from vedette.state.policy import bans
from vedette.state.policy.bans import Ban

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)


@router.get("/ui/bans", summary="Banned programs")
async def banned(
    request: Request,
    here: Annotated[Services, Depends(services)],
    scope: Annotated[Scope, Depends(scope_of_request)],
) -> Response:
    text = request.query_params.get("q", "").strip().lower()

    def work() -> list[Ban]:
        found = bans.all_bans(here.database)
        wanted = [one for one in found if text in one.md5 or text in one.text.lower()]
        return sorted(wanted, key=lambda one: (not one.enabled, -one.time_us))

    found = await to_thread.run_sync(work)
    return render(request, "screens/bans.html", q=text, bans=found, scope=scope)
