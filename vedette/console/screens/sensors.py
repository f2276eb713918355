"""Hosts: the list, one of them, and the groups that they are in."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.routes.search.run import run_lookup
from vedette.api.schemas.parameters import ID_MAX, bounded_number, whole_number
from vedette.api.schemas.sensor import status_of
from vedette.api.services import Services, services
from vedette.console.render import render
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import Role
from vedette.model.scope import Scope
from vedette.search.alerts import alert_search
from vedette.search.alerts.host_risk import host_risk
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.search_request import SearchRequest, Sort
from vedette.state.policy import groups
from vedette.state.sensors import sensor_list
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.state.sensors.sensor_row import SensorRow

router = APIRouter(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

PHASES: Final = ("not isolated", "ordered, waits for check-in", "isolated", "release ordered")
"""By `phase_of`."""

_SORTS: Final = ("last_checkin_time", "hostname", "status", "sensor_health_status", "group_id")


@router.get("/ui/sensors", summary="Hosts")
async def sensors(request: Request, here: Here, scope: Within) -> Response:
    params = request.query_params
    start = whole_number(params, "start", 0)
    sort = params.get("sort", "") if params.get("sort", "") in _SORTS else _SORTS[0]
    group = params.get("group", "")
    query = SensorQuery(
        hostname=params.get("q", "").strip(),
        group_id=bounded_number("group", group, most=ID_MAX) if group else None,
        sort=sort,
        is_descending=sort == _SORTS[0],
        start=start,
        rows=limits.PAGE_ROWS,
    )

    def work() -> dict[str, Any]:
        now_us = here.clock.now_us()
        page = sensor_list.page(here.database, scope, query, now_us)
        return {
            "page": page,
            "totals": sensor_list.totals(here.database, scope, now_us),
            "rows": [(one, status_of(one, now_us), phase_of(one)) for one in page.sensors],
            "all_groups": [
                one
                for one in groups.all_groups(here.database)
                if principal_of(request).role_in(one.id) >= Role.VIEWER
            ],
        }

    return render(
        request,
        "screens/sensors.html",
        q=query.hostname,
        group=group,
        sort=sort,
        start=start,
        page_rows=limits.PAGE_ROWS,
        phases=PHASES,
        **await to_thread.run_sync(work),
    )


@router.get("/ui/sensors/{sensor_id}", summary="A host")
async def sensor(sensor_id: str, request: Request, here: Here, scope: Within) -> Response:
    row = _row(here, scope, sensor_id)

    def work(engine: BoundedEngine) -> dict[str, Any]:
        now_us = here.clock.now_us()
        wanted = SearchRequest(
            (("q", f"sensor_id:{row.id}"),),
            limits.HOME_ROWS,
            0,
            (Sort("created_time", is_descending=True),),
        )
        return {
            "risk": host_risk(engine, scope, row.id, now_us),
            "alerts": alert_search.search(engine, scope, wanted, here.settings, now_us),
            "health": status_of(row, now_us),
        }

    found = await run_lookup(request, here, work)
    can_act = principal_of(request).role_in(row.group_id) >= Role.ANALYST
    return render(
        request,
        "screens/sensor.html",
        sensor=row,
        phase=phase_of(row),
        phases=PHASES,
        can_act=can_act,
        why=_why_no_orders(row, can_act=can_act),
        **found,
    )


def _why_no_orders(row: SensorRow, *, can_act: bool) -> str:
    """Why the reader cannot order anything of a host; "" if they can."""
    if not can_act:
        return "You are no analyst of this group"
    return "" if row.has_sensor else "No sensor of Vedette is on this host that could do it"


def phase_of(row: SensorRow) -> int:
    """Which of the four phases of isolation a host is in (docs/api-objects.md#isolation)."""
    pair = row.network_isolation_enabled, row.is_isolating
    return {(False, False): 0, (True, False): 1, (True, True): 2, (False, True): 3}[pair]


def _row(here: Services, scope: Scope, text: str) -> SensorRow:
    try:
        number = bounded_number("sensor_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no sensor {text[:40]!r}") from None
    return sensor_list.get(here.database, scope, number)
