"""The home page: what needs its reader now, and whether anything is broken. Each tile is read by
itself, so that one that fails or is not permitted leaves the others."""

import shutil
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.routes.search.run import run_search
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.console.severity import LEVELS, level_of
from vedette.errors import ForbiddenError
from vedette.model.findings.alert import THOUSAND
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.search_request import SearchRequest, Sort
from vedette.state.sensors import sensor_list
from vedette.store.partitions.lifecycle import list_partitions

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

OPEN_ALERTS: Final = '-status:Resolved -status:"False Positive"'
_TILES: Final = ("alerts", "rules", "hosts", "sensors", "storage")


@router.get("/ui/", summary="Home")
async def home(request: Request) -> Response:
    return render(request, "screens/home.html", tiles=_TILES)


@router.get("/ui/_/home/alerts", summary="Open alerts by severity")
async def alerts(request: Request, here: Here, scope: Within) -> Response:
    name = principal_of(request).name

    def work(engine: BoundedEngine) -> dict[str, Any]:
        now_us = here.clock.now_us()
        found = alert_search.search(
            engine, scope, _open(facets=("alert_severity", "assigned_to")), here.settings, now_us
        )
        counts = dict.fromkeys(LEVELS, 0)
        for severity, count in found.facets["alert_severity"]:
            counts[level_of(float(severity))] += count
        assigned = dict(found.facets["assigned_to"])
        unassigned = found.total - sum(assigned.values())
        return {
            "counts": counts,
            "total": found.total,
            "mine": assigned.get(name, 0),
            "unassigned": unassigned,
            "oldest_us": found.rows[0]["created_time"] if found.rows else 0,
            "is_incomplete": found.is_incomplete,
        }

    return render(request, "fragments/home/alerts.html", **await run_search(request, here, work))


@router.get("/ui/_/home/rules", summary="What made the gravest open alerts")
async def rules(request: Request, here: Here, scope: Within) -> Response:
    return await _groups(request, here, scope, "title", "fragments/home/rules.html")


@router.get("/ui/_/home/hosts", summary="The hosts with most open alerts")
async def hosts(request: Request, here: Here, scope: Within) -> Response:
    return await _groups(request, here, scope, "host", "fragments/home/hosts.html")


@router.get("/ui/_/home/sensors", summary="Sensors")
async def sensors(request: Request, here: Here, scope: Within) -> Response:
    def work() -> dict[str, Any]:
        now_us = here.clock.now_us()
        totals = sensor_list.totals(here.database, scope, now_us)
        return {"totals": totals, "silent": totals.sensors - totals.active}

    return render(request, "fragments/home/sensors.html", **await to_thread.run_sync(work))


@router.get("/ui/_/home/storage", summary="Storage")
async def storage(request: Request, here: Here) -> Response:
    if not principal_of(request).is_global_admin:
        raise ForbiddenError("storage is shown to global administrators")

    def work() -> dict[str, Any]:
        partitions = list_partitions(here.engine)
        disk = shutil.disk_usage(here.settings.data)
        return {
            "partitions": partitions,
            "rows": sum(one.row_count for one in partitions),
            "bytes": sum(one.byte_count for one in partitions),
            "free": disk.free,
            "size": disk.total,
            "takes": here.ingest_queue.available,
        }

    return render(request, "fragments/home/storage.html", **await to_thread.run_sync(work))


async def _groups(
    request: Request, here: Services, scope: Scope, by: str, template: str
) -> Response:
    def work(engine: BoundedEngine) -> dict[str, Any]:
        wanted = _open(rows=limits.HOME_ROWS, sort=Sort("severity", is_descending=True))
        now_us = here.clock.now_us()
        found = alert_search.groups(engine, scope, wanted, by, here.settings, now_us)
        return {"found": found, "thousand": THOUSAND}

    return render(request, template, **await run_search(request, here, work))


def _open(
    *, rows: int = 1, sort: Sort | None = None, facets: tuple[str, ...] = ()
) -> SearchRequest:
    oldest = Sort("created_time", is_descending=False)
    return SearchRequest((("q", OPEN_ALERTS),), rows, 0, (sort or oldest,), facets=facets)
