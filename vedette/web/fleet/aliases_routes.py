"""Host names: aliases, whose records belong to a sensor, and names that several sensor groups
claim."""

from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.state.policy import name_owners
from vedette.state.sensors.hosts import aliases
from vedette.web.fleet.host_conflicts_json import administered, conflict_body
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import check_members
from vedette.web.json.parameters import ID_MAX, bounded_number, described

router = Router(tags=["sensors"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.get("/api/v1/hostalias", right=Right.ADMINISTER, summary="List host aliases")
def listed(here: Here) -> Response:
    """Returns alias, sensor id and host name, sorted by alias. Includes short names that the server
    merged with a full name."""
    return json_answer(
        [
            {"alias": alias, "sensor_id": sensor_id, "hostname": hostname}
            for alias, sensor_id, hostname in aliases.listed(here.database)
        ]
    )


@router.post("/api/v1/hostalias", right=Deed.CHANGE_HOST_ALIASES, summary="Add a host alias")
def create(here: Here, body: Body) -> Response:
    """Body: `alias` and `hostname`, and `group_id` if several sensor groups have such a host. Later
    records of the group that name the alias belong to the host's sensor. Returns 404 for an unknown
    host, 409 if the alias is already a host or an alias in the group."""
    check_members(body, "alias", "hostname", "group_id", of="an alias")
    alias, hostname = body.get("alias"), body.get("hostname")
    if not isinstance(alias, str) or not isinstance(hostname, str):
        raise BadRequestError("alias, hostname: must be host names")
    aliases.add(here.database, alias, hostname, _group_id(body.get("group_id")))
    here.sensors.evict(alias.lower())
    return json_answer({"result": "success"})


@router.delete(
    "/api/v1/hostalias/{alias}",
    right=Deed.CHANGE_HOST_ALIASES,
    summary="Remove a host alias",
    openapi_extra=described(("group_id", "Sensor group, where several have such an alias")),
)
def delete(alias: str, request: Request, here: Here) -> Response:
    """Stored records stay with the sensor. Later records with that name create a separate
    sensor."""
    group_id = _group_id(request.query_params.get("group_id"))
    aliases.remove(here.database, alias, here.clock.now_us(), group_id)
    here.sensors.evict(alias.lower())
    return json_answer({"result": "success"})


@router.get(
    "/api/v1/hostconflict",
    right=Right.ADMINISTER_GROUP,
    summary="List host names that several sensor groups claim",
)
def conflicts(here: Here, caller: Caller) -> Response:
    """Returns undecided names in the groups where the caller is Administrator: the first by name,
    and the `total`. `claims` lists the sensors of these groups; `claimed_by_others` is true if
    another group also claims the name. Until a decision, each group stores records of the name
    separately."""
    groups = None if caller.is_global_admin else administered(caller)
    found = name_owners.open_conflicts(here.database, groups)
    results = [conflict_body(one, groups) for one in found.shown]
    return json_answer({"total": found.total, "results": results})


@router.put(
    "/api/v1/hostconflict/{name}",
    right=Deed.DECIDE_HOST_NAME,
    summary="Decide about a contested host name",
)
def decide(name: str, here: Here, caller: Caller, body: Body) -> Response:
    """Body: `owner`. The id of a sensor with this name merges the claims: later records from all
    these groups are stored for this sensor, regardless of the token. null declares the claims to be
    different hosts. Stored records do not move."""
    check_members(body, "owner", of="a decision")
    if "owner" not in body:
        raise BadRequestError("owner: is required: a sensor id or null")
    given = body["owner"]
    owner = None if given is None else bounded_number("owner", given, least=1, most=ID_MAX)
    now_us = here.clock.now_us()
    found = name_owners.decide(here.database, name, owner, caller.name, now_us)
    here.sensors.evict(found.name)
    return json_answer(conflict_body(found, None))


@router.delete(
    "/api/v1/hostconflict/{name}",
    right=Deed.DECIDE_HOST_NAME,
    summary="Withdraw the decision about a host name",
)
def withdraw(name: str, here: Here) -> Response:
    """Later records of each group are stored for its own sensor again, and the conflict is open."""
    name_owners.withdraw(here.database, name, here.clock.now_us())
    here.sensors.evict(name.lower())
    return json_answer({"result": "success"})


def _group_id(given: object) -> int | None:
    return None if given is None else bounded_number("group_id", given, least=1, most=ID_MAX)
