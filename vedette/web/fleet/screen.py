"""Pages of hosts: the list, and details of a host."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError, QueryError
from vedette.model.principal import Role
from vedette.model.rights.authorization import Deed, may, of_groups
from vedette.model.scope import Scope
from vedette.record.objects.sensor_group import Group
from vedette.respond.isolation_reach import isolation_reach
from vedette.search.alerts import alert_search
from vedette.search.alerts.host_risk import host_risk, risk_by_day
from vedette.search.bounded_engine import BoundedEngine
from vedette.search.completeness.completeness import (
    QueueReport,
    Window,
    completeness,
    unmounted,
    whole_windows,
)
from vedette.search.search_request import SearchRequest, Sort
from vedette.state.devices.device_list import kit_type_of
from vedette.state.devices.update_jobs import KIT_TYPES
from vedette.state.policy import groups, name_owners
from vedette.state.sensors import sensor_list, sensor_queues
from vedette.state.sensors.channel_codes import channel_names
from vedette.state.sensors.checkins import HealthHour, health_by_hour
from vedette.state.sensors.sensor_list import SensorPage, SensorQuery
from vedette.state.sensors.sensor_packages import OS_TYPES, package_of
from vedette.state.sensors.sensor_row import SensorRow
from vedette.web.fleet.models import status_of
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.search_run import run_lookup
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number, whole_number
from vedette.web.page.render import render

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]

PHASES: Final = ("not isolated", "isolation pending", "isolated", "release pending")
"""Labels by `phase_of`."""

WHY_NO_ORDERS: Final = (
    "This host is no longer in the sensor list",
    "Requires the Analyst role in this group",
    "This host has no Vedette sensor",
    "Requires the Administrator role in this group",
    "You do not administer any other group",
    "No sensor package registered for this system. Register one with: vedette package add",
)

_DAY_US: Final = 24 * 3600 * 1_000_000
_HOUR_MS: Final = 3600 * 1_000
_SORTS: Final = ("last_checkin_time", "hostname", "status", "sensor_health_status", "group_id")


@router.get("/ui/sensors", right=Right.READ, summary="List hosts")
async def sensors(request: Request, here: Here, scope: Within) -> Response:
    query = _query(request)

    def work() -> dict[str, Any]:
        now_us = here.clock.now_us()
        page, problem = SensorPage(0, []), None
        try:
            page = sensor_list.page(here.database, scope, query, now_us)
        except QueryError as error:
            problem = error
        return {
            "page": page,
            "problem": problem,
            "totals": sensor_list.totals(here.database, scope, now_us),
            "rows": [(one, status_of(one, now_us), phase_of(one)) for one in page.sensors],
            "all_groups": [
                one
                for one in groups.all_groups(here.database)
                if principal_of(request).role_in(one.id) >= Role.VIEWER
            ],
            "kits": _kits(here),
        }

    return render(
        request,
        "fleet/sensors.html",
        q=query.terms,
        group=query.group_id or "",
        silent=query.silent_days or "",
        trouble=query.trouble,
        sort=query.sort,
        start=query.start,
        org=here.settings.org_key,
        page_rows=limits.PAGE_ROWS,
        phases=PHASES,
        **await to_thread.run_sync(work),
    )


@router.get("/ui/_/sensors/ids", right=Right.READ, summary="Get the ids of matching hosts")
async def ids(request: Request, here: Here, scope: Within) -> Response:
    """Returns the ids of all matching hosts, not only of the page, for a change of all of them."""
    query, now_us = replace(_query(request), start=0, rows=None), here.clock.now_us()
    found = await to_thread.run_sync(sensor_list.ids, here.database, scope, query, now_us)
    if len(found) > limits.SENSORS_PAGE_MAX:
        most = limits.SENSORS_PAGE_MAX
        raise BadRequestError(f"{len(found):,} hosts match; at most {most:,} change at a time")
    return render(request, "fleet/ids.html", ids=found)


def _query(request: Request) -> SensorQuery:
    params = request.query_params
    sort = params.get("sort", "") if params.get("sort", "") in _SORTS else _SORTS[0]
    group, silent = params.get("group", ""), params.get("silent", "")
    trouble = params.get("trouble", "")
    return SensorQuery(
        terms=params.get("q", "").strip(),
        group_id=bounded_number("group", group, most=ID_MAX) if group else None,
        silent_days=bounded_number("silent", silent, most=limits.PARAMETER_DAYS_MAX)
        if silent
        else None,
        trouble=trouble if trouble in sensor_list.TROUBLES else "",
        sort=sort,
        is_descending=sort == _SORTS[0],
        start=whole_number(params, "start", 0),
        rows=limits.PAGE_ROWS,
    )


def _kits(here: Services) -> dict[str, str]:
    """Maps kit type to the version that an update job would install."""
    found = {os: package_of(here.database, os) for os in OS_TYPES}
    return {kit: one.version for kit, os in KIT_TYPES.items() if (one := found[os]) is not None}


@router.get("/ui/sensors/{sensor_id}", right=Right.READ, summary="Show a host")
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
            "risks": risk_by_day(engine, scope, row.id, now_us),
            "alerts": alert_search.search(engine, scope, wanted, here.settings, now_us),
            "health": status_of(row, now_us),
            "healths": _healths(here, row, now_us),
            "allowed": isolation_reach(
                here.database, [row], here.settings.isolation_allow, now_us
            ).allowed[row.group_name],
        }

    found = await run_lookup(request, here, work)
    can_act = may(principal_of(request), Deed.ORDER_SENSOR, of_groups(row.group_id))
    others, kits = await to_thread.run_sync(_managing, request, here, row)
    is_contested = await to_thread.run_sync(_is_contested, request, here, row)
    return render(
        request,
        "fleet/sensor.html",
        sensor=row,
        others=others,
        is_contested=is_contested,
        kits=kits,
        why_not=_why_not(request, row, others, kits),
        notes_max=limits.SENSOR_NOTES_CHARS_MAX,
        org=here.settings.org_key,
        phase=phase_of(row),
        phases=PHASES,
        can_act=can_act,
        why=_why_no_orders(row, can_act=can_act),
        **found,
    )


def _is_contested(request: Request, here: Services, row: SensorRow) -> bool:
    """Returns whether another sensor group claims a name of the host. Only administrators of its
    group see this."""
    is_administrator = principal_of(request).role_in(row.group_id) >= Role.ADMINISTRATOR
    return is_administrator and name_owners.is_contested(here.database, row.id)


def _managing(
    request: Request, here: Services, row: SensorRow
) -> tuple[list[Group], dict[str, str]]:
    """The groups that the reader may move a host to, and the version that it can be updated to, by
    kit type."""
    caller, kit_type = principal_of(request), kit_type_of(row)
    others = [
        one
        for one in groups.all_groups(here.database)
        if one.id != row.group_id and may(caller, Deed.MOVE_SENSOR, of_groups(row.group_id, one.id))
    ]
    return others, {kit: text for kit, text in _kits(here).items() if kit == kit_type}


def _why_not(
    request: Request, row: SensorRow, others: Sequence[Group], kits: Mapping[str, str]
) -> dict[str, str]:
    """Returns the reason why the reader cannot write notes on, move or update a host; "" if they
    can."""
    caller, group = principal_of(request), of_groups(row.group_id)
    unmoved = "" if may(caller, Deed.MOVE_SENSOR, group) else WHY_NO_ORDERS[3]
    unmanaged = "" if may(caller, Deed.UPDATE_SENSORS, group) else WHY_NO_ORDERS[3]
    unupdated = "" if row.has_sensor else WHY_NO_ORDERS[2]
    return {
        "note": "" if may(caller, Deed.ORDER_SENSOR, group) else WHY_NO_ORDERS[1],
        "move": unmoved or ("" if others else WHY_NO_ORDERS[4]),
        "update": unmanaged or unupdated or ("" if kits else WHY_NO_ORDERS[5]),
    }


def _healths(here: Services, row: SensorRow, now_us: int) -> list[HealthHour]:
    """Returns the health of a host's sensor by hour; empty if the sensor does not report health."""
    if not row.has_health:
        return []
    return health_by_hour(here.database, row.id, row.enrolled_us, now_us, row.health_status)


@router.get(
    "/ui/_/sensors/{sensor_id}/completeness",
    right=Right.READ,
    summary="Show completeness of a host",
)
async def whole(sensor_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Shows completeness of the last 24 hours by channel; with `hours`, by hour."""
    row, now_us = _row(here, scope, sensor_id), here.clock.now_us()
    day = whole_windows(now_us - _DAY_US, now_us)
    by_hour = "hours" in request.query_params
    kept = sensor_queues.queues_of(here.database, [row.id], day.from_ms * 1_000)
    queues = {
        row.id: tuple(
            QueueReport(epoch, one.expected - 1, one.missing) for epoch, one in kept.get(row.id, ())
        )
    }

    def work(engine: BoundedEngine) -> dict[str, Any]:
        names = channel_names(here.database)
        if not by_hour:
            (report,) = completeness(engine, [row.id], day, names, queues)
            return {"report": report, "unmounted": unmounted(engine, day), "hours": ()}
        steps = [
            Window(until - _HOUR_MS, until)
            for until in range(day.until_ms, day.from_ms + _HOUR_MS - 1, -_HOUR_MS)
        ]
        found = [
            (one.from_ms * 1_000, completeness(engine, [row.id], one, names, {})[0])
            for one in steps
        ]
        return {"hours": found}

    found = await run_lookup(request, here, work)
    return render(request, "fleet/completeness.html", sensor=row, **found)


@router.get(
    "/ui/_/sensors/{sensor_id}/isolation",
    right=Right.READ,
    summary="Preview the isolation of a host",
)
async def isolation(sensor_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Shows the effect of an isolation before it is ordered: the addresses that the host's next
    check-in would return as still reachable."""

    def work() -> dict[str, Any]:
        row = _row(here, scope, sensor_id)
        always, now_us = here.settings.isolation_allow, here.clock.now_us()
        reach = isolation_reach(here.database, [row], always, now_us)
        return {"sensor": row, "reach": reach, "allowed": reach.allowed[row.group_name]}

    return render(request, "fleet/isolation.html", **await to_thread.run_sync(work))


def isolation_of(request: Request, here: Services, scope: Scope, sensor_id: int) -> dict[str, Any]:
    """Returns the isolation state of a host for `fragments/isolation_button.html`. `host` is None
    if the reader cannot see it. `why` states why the reader cannot send orders, "" if they can."""
    try:
        row = sensor_list.get(here.database, scope, sensor_id)
    except NotFoundError:
        why, state = WHY_NO_ORDERS[0], {"host": None, "host_status": "", "phase": 0}
        return {**state, "why": why, "phases": PHASES}
    can_act = may(principal_of(request), Deed.ORDER_SENSOR, of_groups(row.group_id))
    return {
        "host": row,
        "host_status": status_of(row, here.clock.now_us()),
        "phase": phase_of(row),
        "phases": PHASES,
        "why": _why_no_orders(row, can_act=can_act),
    }


def knows_no_host(here: Services, scope: Scope) -> bool:
    """Returns whether the reader sees no host, which means that there is no data for any
    request."""
    return not sensor_list.totals(here.database, scope, here.clock.now_us()).sensors


def offset_of(here: Services, scope: Scope, sensor_id: int) -> int | None:
    """Returns the host's UTC offset in minutes, as its sensor reported it at the last check-in;
    None without such a report."""
    try:
        row = sensor_list.get(here.database, scope, sensor_id)
    except NotFoundError:
        return None
    return row.utc_offset_min if row.has_health else None


def _why_no_orders(row: SensorRow, *, can_act: bool) -> str:
    """Returns the reason why the reader cannot send orders to a host; "" if they can."""
    if not can_act:
        return WHY_NO_ORDERS[1]
    return "" if row.has_sensor else WHY_NO_ORDERS[2]


def hosts_of(
    here: Services, scope: Scope, ids: Sequence[int]
) -> dict[int, tuple[SensorRow, str, int]]:
    """Returns the hosts with these ids that the reader sees, each with status and isolation
    phase."""
    found, now_us = sensor_list.some(here.database, scope, ids), here.clock.now_us()
    return {number: (row, status_of(row, now_us), phase_of(row)) for number, row in found.items()}


def phase_of(row: SensorRow) -> int:
    """Returns the isolation phase of a host, 0 to 3 (docs/api-objects.md#isolation)."""
    pair = row.network_isolation_enabled, row.is_isolating
    return {(False, False): 0, (True, False): 1, (True, True): 2, (False, True): 3}[pair]


def _row(here: Services, scope: Scope, text: str) -> SensorRow:
    try:
        number = bounded_number("sensor_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"sensor {text[:40]!r} not found") from None
    return sensor_list.get(here.database, scope, number)
