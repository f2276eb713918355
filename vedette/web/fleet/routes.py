"""Sensors and their hosts (docs/api-sensors.md#changing-a-sensor)."""

import time
from dataclasses import replace
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import PARAMETER_DAYS_MAX, Limit
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed, of_groups, require
from vedette.model.scope import Scope
from vedette.state.jobs import responses
from vedette.state.sensors import isolation, key_replacement, sensor_changes, sensor_list
from vedette.state.sensors.sensor_changes import SensorChanges
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.state.sensors.sensor_row import SensorRow
from vedette.web.fleet.models import activity_body, queued_body, resource_body, sensor_body
from vedette.web.fleet.sensor_changes_json import (
    isolation_words,
    needed_rights,
    order_reason,
    read_changes,
)
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import empty_answer, json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import check_members, flag_value
from vedette.web.json.parameters import (
    ID_MAX,
    bounded_number,
    described,
    optional_number,
    whole_number,
)
from vedette.web.json.wire_values import instant

SENSORS_PAGE_DEFAULT: Limit[int] = 100
"""Rows per page of `GET /api/v2/sensor` if `rows` is missing."""


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


@router.get(
    "/api/v1/sensor", right=Right.READ, summary="List sensors", openapi_extra=described(*_FILTERS)
)
def sensors(request: Request, here: Here, scope: Within) -> Response:
    """Returns all matching sensors as a plain list."""
    now_us = here.clock.now_us()
    found = sensor_list.page(here.database, scope, _query(request.query_params), now_us)
    return json_answer([sensor_body(row, now_us) for row in found.sensors])


@router.get("/api/v1/sensor/statistics", right=Right.READ, summary="Count sensors")
def statistics(here: Here, scope: Within) -> Response:
    """Returns the number of sensors and their total backlog, as sensors reported it at check-in.
    Log shippers report none."""
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


@router.get("/api/v1/sensor/{sensor_id}", right=Right.READ, summary="Get a sensor")
def sensor(sensor_id: str, here: Here, scope: Within) -> Response:
    number = _sensor_number(sensor_id)
    row = sensor_list.get(here.database, scope, number)
    return json_answer(sensor_body(row, here.clock.now_us()))


@router.put(
    "/api/v1/sensor/{sensor_id}", right=Right.ACT, summary="Change a sensor: orders, group, notes"
)
async def change_sensor(sensor_id: str, request: Request, here: Here, scope: Within) -> Response:
    """Body: the members listed in docs/api-sensors.md#changing-a-sensor. A whole record may be sent
    back: read-only members are ignored, but a record of another sensor is rejected. The audit log
    stores `reason` with the change."""
    number, body = _sensor_number(sensor_id), await json_object(request)
    await to_thread.run_sync(change_one, here, scope, principal_of(request), number, body)
    here.sensor_keys.evict(number)
    return empty_answer()


def rights_checked(principal: Principal, changes: SensorChanges, row: SensorRow) -> None:
    """Raises ForbiddenError that names the missing role and group."""
    for deed, managed in needed_rights(changes, row):
        require(principal, deed, managed)


def change_one(
    here: Services, scope: Scope, principal: Principal, number: int, body: dict[str, Any]
) -> None:
    """Applies the changes in a body to a sensor. Raises NotFoundError, ForbiddenError,
    BadRequestError and ConflictError."""
    row = sensor_list.get(here.database, scope, number)
    changes = read_changes(body, row)
    rights_checked(principal, changes, row)
    now_us = here.clock.now_us()
    said = isolation_words(body, row, now_us)
    sensor_changes.change(here.database, number, changes, now_us, order_reason(body))
    wanted = changes.network_isolation_enabled
    if wanted is False:
        isolation.forget(here.database, number)
    elif said is not None:
        words = isolation.Isolation(number, said[0], principal.name, now_us, said[1])
        isolation.record(here.database, words)
    # A whole record that is sent back to change another member leaves the isolation as it is.
    if wanted is not None and (wanted != row.network_isolation_enabled or len(body) == 1):
        responses.take_over(here.database, "isolate", str(number), principal.name)


@router.get(
    "/api/v1/sensor/{sensor_id}/queued", right=Right.READ, summary="Get the queue sizes of a host"
)
def queued(sensor_id: str, here: Here, scope: Within) -> Response:
    row = sensor_list.get(here.database, scope, _sensor_number(sensor_id))
    return json_answer(queued_body(row))


@router.get(
    "/api/v1/sensor/{sensor_id}/activity",
    right=Right.READ,
    summary="Get the last check-in of a sensor",
)
def activity(sensor_id: str, here: Here, scope: Within) -> Response:
    row = sensor_list.get(here.database, scope, _sensor_number(sensor_id))
    return json_answer(activity_body(row))


@router.get(
    "/api/v1/sensor/{sensor_id}/resourcestatus",
    right=Right.READ,
    summary="Get memory, disk and health of a host",
)
def resource_status(sensor_id: str, here: Here, scope: Within) -> Response:
    row = sensor_list.get(here.database, scope, _sensor_number(sensor_id))
    return json_answer(resource_body(row))


@router.get(
    "/api/v1/sensor/{sensor_id}/enrolment",
    right=Right.READ,
    summary="Get the key history of a sensor, and its pending re-enrollment",
)
def enrolment(sensor_id: str, here: Here, scope: Within) -> Response:
    """Returns the re-enrollment that awaits approval, if any, and the history of the sensor's
    keys."""
    return json_answer(_enrolment_body(here, scope, _sensor_number(sensor_id)))


@router.post(
    "/api/v1/sensor/{sensor_id}/enrolment",
    right=Right.ADMINISTER_GROUP,
    summary="Approve or reject a re-enrollment",
)
def decide_enrolment(
    sensor_id: str, here: Here, scope: Within, caller: Caller, body: Body
) -> Response:
    """Body: `{"approve": true}` or `false`, and optionally the `machine_id` of the reviewed
    request, which is then approved even if another machine has asked since. Returns 409
    `changed_meanwhile` if that machine has not asked within a day, 404 without a pending request.
    Needs the Administrator role in the sensor's group."""
    check_members(body, "approve", "machine_id", of="a re-enrollment decision")
    number = _sensor_number(sensor_id)
    machine_id = body.get("machine_id")
    if not isinstance(machine_id, str | None):
        raise BadRequestError("machine_id: must be a string")
    row = sensor_list.get(here.database, scope, number)
    is_approved = flag_value("approve", body.get("approve"))
    require(caller, Deed.DECIDE_ENROLMENT, of_groups(row.group_id))
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
    right=Right.READ,
    summary="List sensors by page",
    openapi_extra=described(
        ("rows", f"Rows of a page; default {SENSORS_PAGE_DEFAULT}"),
        ("start", "First row"),
        ("q", "A query over sensors, docs/query-objects.md#sensors; the filters hold beside it"),
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
    trouble = query.get("trouble_filter", "")
    if trouble and trouble not in sensor_list.TROUBLES:
        raise BadRequestError(f"trouble_filter: must be one of {', '.join(sensor_list.TROUBLES)}")
    column = query.get("sort.col", "") or sensor_list.DEFAULT_SORT
    # The default sort shows the latest check-in first; other columns ascend.
    direction = query.get("sort.dir", "") or (
        "desc" if column == sensor_list.DEFAULT_SORT else "asc"
    )
    return SensorQuery(
        hostname=query.get("hostname", ""),
        ip=query.get("ip", ""),
        group_id=optional_number(query, "groupid", most=ID_MAX),
        inactive_days=optional_number(query, "inactive_filter_days", most=PARAMETER_DAYS_MAX),
        silent_days=optional_number(query, "silent_filter_days", most=PARAMETER_DAYS_MAX),
        trouble=trouble,
        sort=column,
        is_descending=direction.lower() == "desc",
        start=start,
        rows=rows,
    )


def _sensor_number(text: str) -> int:
    """Parses a sensor id in a path. Raises NotFoundError for an invalid id."""
    try:
        return bounded_number("sensor_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"sensor {text[:40]!r} not found") from None
