"""Sensors and their hosts (docs/http-api.md#changing-a-sensor)."""

import time
from dataclasses import replace
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import empty_answer, json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import check_members
from vedette.api.schemas.parameters import ID_MAX, bounded_number, described, whole_number
from vedette.api.schemas.sensor import activity_body, queued_body, resource_body, sensor_body
from vedette.api.schemas.sensor_changes import isolation_words, needed_roles, read_changes
from vedette.api.schemas.wire_values import instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ForbiddenError, NotFoundError
from vedette.limits import PARAMETER_DAYS_MAX, SENSORS_PAGE_DEFAULT
from vedette.model.principal import ROLE_NAMES, Principal, Role
from vedette.model.scope import Scope
from vedette.state.jobs import responses
from vedette.state.sensors import isolation, key_replacement, sensor_changes, sensor_list
from vedette.state.sensors.sensor_changes import SensorChanges
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.state.sensors.sensor_row import SensorRow

router = Router(tags=["sensors"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]


_FILTERS: Final = (
    ("hostname", "Part of the host's name, case-sensitive"),
    ("ip", "Part of the address, case-sensitive; hostname does not count then"),
    ("groupid", "Id of a sensor group"),
    ("inactive_filter_days", "Only sensors whose last contact is within so many days"),
    ("silent_filter_days", "Only sensors without contact for so many days"),
    (
        "trouble_filter",
        "isolation: only hosts that are isolated or are to be; gaps: only those of "
        "which records are missing",
    ),
    ("sort.col", "Column to sort by; default last_checkin_time"),
    ("sort.dir", "asc or desc"),
)


@router.get("/api/v1/sensor", summary="All sensors", openapi_extra=described(*_FILTERS))
def sensors(request: Request, here: Here, scope: Within) -> Response:
    """A plain list of everything that matches."""
    now_us = here.clock.now_us()
    found = sensor_list.page(here.database, scope, _query(request.query_params), now_us)
    return json_answer([sensor_body(row, now_us) for row in found.sensors])


@router.get("/api/v1/sensor/statistics", summary="Counts over all sensors")
def statistics(here: Here, scope: Within) -> Response:
    """Backlogs are what sensors reported at check-in; log shippers report none."""
    found = sensor_list.totals(here.database, scope, here.clock.now_us())
    return json_answer(
        {
            "sensor_count": found.sensors,
            "active_sensor_count": found.active,
            "num_eventlog_bytes": found.eventlog_bytes,
            "num_storefile_bytes": found.storefiles_bytes,
            "num_storefiles_bytes": found.storefiles_bytes,
        }
    )


@router.get("/api/v1/sensor/{sensor_id}", summary="One sensor")
def sensor(sensor_id: str, here: Here, scope: Within) -> Response:
    number = _sensor_number(sensor_id)
    row = sensor_list.get(here.database, scope, number)
    return json_answer(sensor_body(row, here.clock.now_us()))


@router.put("/api/v1/sensor/{sensor_id}", summary="Change a sensor: orders, group, notes")
async def change_sensor(sensor_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Takes the members that docs/http-api.md#changing-a-sensor names. A whole record may be
    sent back: members
    that cannot be changed are ignored, but a record of another sensor is refused."""
    number, body = _sensor_number(sensor_id), await json_object(request)
    await to_thread.run_sync(change_one, here, scope, principal_of(request), number, body)
    here.sensor_keys.evict(number)
    return empty_answer()


def roles_checked(principal: Principal, changes: SensorChanges, row: SensorRow) -> None:
    """Raises ForbiddenError that names the role and the group that are missing."""
    for group_id, role in needed_roles(changes, row):
        if principal.role_in(group_id) < role:
            needed = ROLE_NAMES[role]
            raise ForbiddenError(f"{principal.name} must be {needed} in sensor group {group_id}")


def change_one(
    here: Services, scope: Scope, principal: Principal, number: int, body: dict[str, Any]
) -> None:
    """Changes a sensor as a body says. Raises NotFoundError, ForbiddenError, BadRequestError and
    ConflictError."""
    row = sensor_list.get(here.database, scope, number)
    changes = read_changes(body, row)
    roles_checked(principal, changes, row)
    now_us = here.clock.now_us()
    said = isolation_words(body, row, now_us)
    sensor_changes.change(here.database, number, changes, now_us)
    wanted = changes.network_isolation_enabled
    if wanted is False:
        isolation.forget(here.database, number)
    elif said is not None:
        words = isolation.Isolation(number, said[0], principal.name, now_us, said[1])
        isolation.record(here.database, words)
    # A whole record that comes back for another member decides nothing about the isolation.
    if wanted is not None and (wanted != row.network_isolation_enabled or len(body) == 1):
        responses.take_over(here.database, "isolate", str(number), principal.name)


@router.get("/api/v1/sensor/{sensor_id}/queued", summary="What waits on the host")
def queued(sensor_id: str, here: Here, scope: Within) -> Response:
    row = sensor_list.get(here.database, scope, _sensor_number(sensor_id))
    return json_answer(queued_body(row))


@router.get("/api/v1/sensor/{sensor_id}/activity", summary="The sensor's last check-in")
def activity(sensor_id: str, here: Here, scope: Within) -> Response:
    row = sensor_list.get(here.database, scope, _sensor_number(sensor_id))
    return json_answer(activity_body(row))


@router.get("/api/v1/sensor/{sensor_id}/resourcestatus", summary="Memory, disk and health")
def resource_status(sensor_id: str, here: Here, scope: Within) -> Response:
    row = sensor_list.get(here.database, scope, _sensor_number(sensor_id))
    return json_answer(resource_body(row))


@router.get(
    "/api/v1/sensor/{sensor_id}/enrolment",
    summary="Audit of a sensor's keys, and pending re-enrolment",
)
def enrolment(sensor_id: str, here: Here, scope: Within) -> Response:
    """The re-enrolment that waits for approval, if any, and the audit of the sensor's keys."""
    return json_answer(_enrolment_body(here, scope, _sensor_number(sensor_id)))


@router.post("/api/v1/sensor/{sensor_id}/enrolment", summary="Approve or reject a re-enrolment")
def decide_enrolment(
    sensor_id: str, here: Here, scope: Within, caller: Caller, body: Body
) -> Response:
    """Takes `{"approve": true}` or `false`, and the `machine_id` of the request that was read: it
    is approved though another machine has asked since. 409 `changed_meanwhile` for one that has not
    asked for a day; 404 where none waits. It needs the Administrator role in the sensor's group."""
    check_members(body, "approve", "machine_id", of="a decision about a re-enrolment")
    number, is_approved = _sensor_number(sensor_id), body.get("approve")
    machine_id = body.get("machine_id")
    if not isinstance(machine_id, str | None):
        raise BadRequestError("machine_id: must be a text")
    row = sensor_list.get(here.database, scope, number)
    if not isinstance(is_approved, bool):
        raise BadRequestError("approve: must be true or false")
    if caller.role_in(row.group_id) < Role.ADMINISTRATOR:
        needed = ROLE_NAMES[Role.ADMINISTRATOR]
        raise ForbiddenError(f"{caller.name} must be {needed} in sensor group {row.group_id}")
    decide = key_replacement.approve if is_approved else key_replacement.reject
    decide(here.database, number, caller.name, here.clock.now_us(), machine_id)
    return json_answer(_enrolment_body(here, scope, number))


def _enrolment_body(here: Services, scope: Scope, number: int) -> dict[str, Any]:
    request = key_replacement.request_of(here.database, scope, number)
    return {
        "pending": None
        if not request.requested_us
        else {
            "requested": instant(request.requested_us),
            "approved": instant(request.approved_us) if request.approved_us else None,
            "program": request.kind,
            "machine_id": request.machine_id,
        },
        "history": [
            {
                "timestamp": instant(one.time_us),
                "action": one.action,
                "program": one.kind,
                "machine_id": one.machine_id,
                "address": one.address,
                "username": one.username,
            }
            for one in key_replacement.history(here.database, number)
        ],
    }


@router.get(
    "/api/v2/sensor",
    summary="Sensors, page by page",
    openapi_extra=described(
        ("rows", f"Rows of a page; default {SENSORS_PAGE_DEFAULT}"),
        ("start", "First row"),
        ("q", "A query over sensors, docs/query-language.md#sensors; the filters hold beside it"),
        *_FILTERS,
    ),
)
def sensor_page(request: Request, here: Here, scope: Within) -> Response:
    began = time.perf_counter()
    now_us = here.clock.now_us()
    query = request.query_params
    start = whole_number(query, "start", 0)
    rows = whole_number(query, "rows", SENSORS_PAGE_DEFAULT, most=limits.SENSORS_PAGE_MAX)
    wanted = replace(_query(query, start, rows), terms=query.get("q", ""))
    found = sensor_list.page(here.database, scope, wanted, now_us)
    return json_answer(
        {
            "total_results": found.total,
            "results": [sensor_body(row, now_us) for row in found.sensors],
            "start": start,
            "elapsed": time.perf_counter() - began,
        }
    )


def _query(query: QueryParams, start: int = 0, rows: int | None = None) -> SensorQuery:
    group_id = query.get("groupid", "")
    days = query.get("inactive_filter_days", "")
    silent = query.get("silent_filter_days", "")
    trouble = query.get("trouble_filter", "")
    if trouble and trouble not in sensor_list.TROUBLES:
        raise BadRequestError(f"trouble_filter: must be one of {', '.join(sensor_list.TROUBLES)}")
    column = query.get("sort.col", "") or sensor_list.DEFAULT_SORT
    # Only the newest check-in is what one wants to see first; names begin with A.
    direction = query.get("sort.dir", "") or (
        "desc" if column == sensor_list.DEFAULT_SORT else "asc"
    )
    return SensorQuery(
        hostname=query.get("hostname", ""),
        ip=query.get("ip", ""),
        group_id=bounded_number("groupid", group_id, most=ID_MAX) if group_id else None,
        inactive_days=bounded_number("inactive_filter_days", days, most=PARAMETER_DAYS_MAX)
        if days
        else None,
        silent_days=bounded_number("silent_filter_days", silent, most=PARAMETER_DAYS_MAX)
        if silent
        else None,
        trouble=trouble,
        sort=column,
        is_descending=direction.lower() == "desc",
        start=start,
        rows=rows,
    )


def _sensor_number(text: str) -> int:
    """A sensor id from a path. Raises NotFoundError for what cannot be one."""
    try:
        return bounded_number("sensor_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no sensor {text[:40]!r}") from None
