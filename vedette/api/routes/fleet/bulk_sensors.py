"""Changing many sensors at once (docs/http-api.md#changing-a-sensor): counted first, and each that
cannot be changed is named with its reason while the others are."""

from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.routes.fleet.sensors import change_one, roles_checked
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.sensor_changes import MANY_MEMBERS, read_changes
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ConflictError, ForbiddenError, NotFoundError
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.respond.isolation_reach import isolation_reach
from vedette.state.sensors import sensor_changes, sensor_list
from vedette.state.sensors.sensor_row import SensorRow

router = Router(tags=["sensors"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_REFUSALS: Final = (BadRequestError, ConflictError, ForbiddenError, NotFoundError)


@router.put("/api/v1/sensor", summary="Change many sensors at once")
def change_many(here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Takes `ids`, and what one sensor takes: orders, `group_id`, `notes`. With `dry_run` nothing
    changes: the answer counts what would, by group and by type of host, and names the `refused`;
    of an isolation it says in `isolation` whom it reaches at once and what stays reachable."""
    ids, changes = _ids(body.get("ids")), _changes(body)
    found = sensor_list.some(here.database, scope, ids)
    refused: list[dict[str, Any]] = []
    taken: list[SensorRow] = []
    for number in ids:
        row = found.get(number)
        try:
            if row is None:
                raise NotFoundError(f"there is no sensor {number}")
            wanted = read_changes(changes, row)
            roles_checked(caller, wanted, row)
            if body.get("dry_run") is True:
                sensor_changes.check_orders(row, wanted)
            else:
                change_one(here, scope, caller, number, changes)
                here.sensor_keys.evict(number)
            taken.append(row)
        except _REFUSALS as error:
            name = row.hostname if row else ""
            refused.append({"id": number, "hostname": name, "message": str(error)})
    answer: dict[str, Any] = {
        "result": "success",
        "dry_run": body.get("dry_run") is True,
        "sensors": len(taken),
        "groups": dict(Counter(one.group_name for one in taken)),
        "host_types": dict(Counter(one.host_type or "unknown" for one in taken)),
        "refused": refused,
    }
    if answer["dry_run"] and changes.get("network_isolation_enabled") is True:
        always, now_us = here.settings.isolation_allow, here.clock.now_us()
        answer["isolation"] = asdict(isolation_reach(here.database, taken, always, now_us))
    return json_answer(answer)


def _ids(given: object) -> list[int]:
    most = limits.SENSORS_CHANGED_MAX
    if not isinstance(given, list) or not 0 < len(given) <= most:
        raise BadRequestError(f"ids: must be a list of 1 to {most:,} ids of sensors")
    if any(isinstance(one, bool) for one in given):
        raise BadRequestError("ids: must be numbers")
    return list(dict.fromkeys(bounded_number("ids", one, least=1, most=ID_MAX) for one in given))


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    """The changes in a body. Raises BadRequestError for a member that is none, and without any."""
    if not isinstance(body.get("dry_run", False), bool):
        raise BadRequestError("dry_run: must be true or false")
    changes = {name: value for name, value in body.items() if name not in ("ids", "dry_run")}
    for name in changes:
        if name not in MANY_MEMBERS:
            raise BadRequestError(f"{name[:60]!r} is no change that many sensors can have")
    if not changes:
        raise BadRequestError(f"there is no change: {', '.join(MANY_MEMBERS)}")
    return changes
