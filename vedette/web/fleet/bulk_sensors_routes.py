"""Bulk changes of sensors (docs/api-sensors.md#changing-a-sensor). A dry run counts them first. A
sensor that cannot be changed is reported with the reason, while the others change."""

from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, ConflictError, ForbiddenError, NotFoundError
from vedette.limits import Limit
from vedette.model.principal import Principal
from vedette.model.scope import Scope
from vedette.respond.isolation_reach import isolation_reach
from vedette.state.sensors import sensor_changes, sensor_list
from vedette.state.sensors.sensor_row import SensorRow
from vedette.web.fleet.routes import change_one, rights_checked
from vedette.web.fleet.sensor_changes_json import (
    MANY_MEMBERS,
    REASON_MEMBER,
    order_reason,
    read_changes,
)
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import flag_of
from vedette.web.json.parameters import ID_MAX, bounded_number

SENSORS_CHANGED_MAX: Limit[int] = 1_000
"""Sensors per `PUT /api/v1/sensor`. Each is a transaction of a few milliseconds."""


router = Router(tags=["sensors"])

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_REFUSALS: Final = (BadRequestError, ConflictError, ForbiddenError, NotFoundError)


@router.put("/api/v1/sensor", right=Right.ACT, summary="Change many sensors")
def change_many(here: Here, caller: Caller, scope: Within, body: Body) -> Response:
    """Body: `ids` (1 to 1,000), and the changes that a single sensor accepts: orders, `group_id`,
    `notes`, `reason`. Returns the number of changed sensors, by group and host type, and the
    `refused` sensors with the reason. With `dry_run` nothing changes and the response counts what
    would; for an isolation, `isolation` has the number of online hosts and the addresses that
    remain reachable."""
    ids, changes = _ids(body.get("ids")), _changes(body)
    order_reason(body)
    is_trial = flag_of(body, "dry_run") is True
    found = sensor_list.some(here.database, scope, ids)
    refused: list[dict[str, Any]] = []
    taken: list[SensorRow] = []
    for number in ids:
        row = found.get(number)
        try:
            if row is None:
                raise NotFoundError(f"sensor {number} not found")
            wanted = read_changes(changes, row)
            rights_checked(caller, wanted, row)
            if is_trial:
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
        "dry_run": is_trial,
        "sensors": len(taken),
        "groups": dict(Counter(one.group_name for one in taken)),
        "host_types": dict(Counter(one.host_type or "unknown" for one in taken)),
        "refused": refused,
    }
    if is_trial and flag_of(changes, "network_isolation_enabled"):
        always, now_us = here.settings.isolation_allow, here.clock.now_us()
        answer["isolation"] = asdict(isolation_reach(here.database, taken, always, now_us))
    return json_answer(answer)


def _ids(given: object) -> list[int]:
    most = SENSORS_CHANGED_MAX
    if not isinstance(given, list) or not 0 < len(given) <= most:
        raise BadRequestError(f"ids: must be a list of 1 to {most:,} sensor ids")
    if any(isinstance(one, bool) for one in given):
        raise BadRequestError("ids: must be numbers")
    return list(dict.fromkeys(bounded_number("ids", one, least=1, most=ID_MAX) for one in given))


def _changes(body: dict[str, Any]) -> dict[str, Any]:
    """Returns the changes in a body. Raises BadRequestError for an unknown member, and for a body
    without changes."""
    changes = {name: value for name, value in body.items() if name not in ("ids", "dry_run")}
    for name in changes:
        if name not in (*MANY_MEMBERS, REASON_MEMBER):
            raise BadRequestError(f"{name[:60]!r} cannot be changed in bulk")
    if not changes.keys() - {REASON_MEMBER}:
        raise BadRequestError(f"needs at least one of {', '.join(MANY_MEMBERS)}")
    return changes
