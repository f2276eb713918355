"""Ingress filters: what is dropped before it is stored, and what goes blind by it."""

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.model.ingress_filter import IngressFilter
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.state.policy import filters

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]


@router.get("/ui/filters", summary="Ingress filters")
async def listed(request: Request, here: Here, scope: Within) -> Response:
    """The highest priority first. `cmdline`, `path` and `name` of the address fill in a new one."""
    caller = principal_of(request)
    params = request.query_params

    def work() -> dict[str, Any]:
        _, found = filters.load(here.database)
        shown = [one for one in found if _is_visible(one, caller, scope)]
        rates = filters.hit_rates(here.database, here.clock.now_us())
        return {"filters": shown, "rates": rates}

    begun = {name: params.get(name, "") for name in ("name", "path", "cmdline")}
    return render(request, "screens/filters.html", begun=begun, **await to_thread.run_sync(work))


def _is_visible(one: IngressFilter, caller: Principal, scope: Scope) -> bool:
    """Users see filters for all hosts, for their groups, and for hosts they see."""
    groups = caller.visible_groups
    if groups is None or one.is_global:
        return True
    return not groups.isdisjoint(one.group_ids) or any(map(scope.allows, one.sensor_ids))
