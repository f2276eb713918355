"""Sensor groups under their three names, and their subresources (docs/clients.md#aliases)."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.http.server_url import server_url
from vedette.api.schemas.group import group_body, group_changes, unused_options
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.schemas.stale_changes import as_it_was
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.group import GroupOptions
from vedette.model.principal import Principal
from vedette.state.policy import groups
from vedette.state.policy.groups import DEFAULT_SITE_ID, Group, GroupChanges

router = Router(tags=["sensor groups"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]
Address = Annotated[str, Depends(server_url)]


@router.get("/api/group", summary="All sensor groups")
@router.get("/api/v1/group", summary="All sensor groups")
@router.get("/api/v3/group", summary="All sensor groups")
def listed(here: Here, caller: Caller, address: Address) -> Response:
    """Those in which the caller has a role, by id."""
    found = [one for one in groups.all_groups(here.database) if may_see(caller, one.id)]
    return json_answer(_bodies(here, found, address))


@router.post("/api/group", summary="Create a sensor group")
@router.post("/api/v1/group", summary="Create a sensor group")
@router.post("/api/v3/group", summary="Create a sensor group")
def create(here: Here, address: Address, body: Body) -> Response:
    """Needs a name; everything else has a default. The answer is the record, with its `id`."""
    if "name" not in body:
        raise BadRequestError("name: is missing")
    wanted = group_changes(body)
    group = groups.add(
        here.database,
        wanted.name or "",
        wanted.site_id or DEFAULT_SITE_ID,
        wanted.sensorbackend_server or "",
        replace(GroupOptions(), **(wanted.options or {})),
        wanted.team_roles,
    )
    if wanted.suppress_children:
        group = groups.change(here.database, group.id, GroupChanges(suppress_children=True))
    here.privacy.reload()
    here.filters.reload()
    answer = _bodies(here, [group], address)[0]
    return json_answer(answer | _warnings(wanted, GroupOptions()))


@router.get("/api/group/{group_id}", summary="One sensor group")
@router.get("/api/v1/group/{group_id}", summary="One sensor group")
@router.get("/api/v3/group/{group_id}", summary="One sensor group")
def one(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """A list of one record, as clients expect."""
    return json_answer(_bodies(here, [visible_group(here, caller, group_id)], address))


@router.put("/api/group/{group_id}", summary="Change a sensor group")
@router.put("/api/v1/group/{group_id}", summary="Change a sensor group")
@router.put("/api/v3/group/{group_id}", summary="Change a sensor group")
def change(group_id: str, here: Here, caller: Caller, address: Address, body: Body) -> Response:
    """Takes any members of the record; what is not given stays. Options that are stored and have no
    effect are listed in `warnings`. 409 `changed_meanwhile` where a member is not as `was` says."""
    known = visible_group(here, caller, group_id)
    # Records show the server's own address where the group has none, and clients send them back.
    is_shown = body.get("sensorbackend_server") == address and not known.sensorbackend_server
    given = {k: v for k, v in body.items() if not (k == "sensorbackend_server" and is_shown)}
    wanted = group_changes(given)
    check = as_it_was(body, partial(_settings, address))
    groups.change(here.database, known.id, wanted, check)
    here.privacy.reload()
    here.filters.reload()
    here.sensors.refresh(here.clock.now_us())
    return json_answer({"result": "success"} | _warnings(wanted, known.options))


@router.delete("/api/group/{group_id}", summary="Delete a sensor group")
@router.delete("/api/v1/group/{group_id}", summary="Delete a sensor group")
@router.delete("/api/v3/group/{group_id}", summary="Delete a sensor group")
def delete(group_id: str, here: Here, caller: Caller) -> Response:
    """With its ingest tokens and enrolment secrets. 409 for the default group, and for one that
    still has sensors: move them first."""
    groups.remove(here.database, visible_group(here, caller, group_id).id)
    return json_answer({"result": "success"})


@router.get("/api/group/{group_id}/datasharing", summary="What a group shares with whom")
@router.get("/api/v1/group/{group_id}/datasharing", summary="What a group shares with whom")
@router.get("/api/v3/group/{group_id}/datasharing", summary="What a group shares with whom")
def datasharing(group_id: str, here: Here, caller: Caller) -> Response:
    """Always an empty list: the server shares nothing with anybody."""
    visible_group(here, caller, group_id)
    return json_answer([])


def _warnings(changes: GroupChanges, known: GroupOptions) -> dict[str, list[str]]:
    """The member `warnings`, where a change has no effect."""
    found = unused_options(changes, known)
    return {"warnings": found} if found else {}


def _settings(address: str, group: Group) -> dict[str, Any]:
    """What a group is set to, but for the roles of teams."""
    body = group_body(group, 0, [], address)
    return {name: value for name, value in body.items() if name != "team_access"}


def visible_group(here: Services, caller: Principal, text: str) -> Group:
    """The group of a path. Raises NotFoundError for one that the caller may not see, too."""
    try:
        number = bounded_number("group_id", text, most=ID_MAX)
    except BadRequestError:
        number = 0
    if not number or not may_see(caller, number):
        raise NotFoundError(f"there is no sensor group {text[:40]!r}")
    return groups.get(here.database, number)


def may_see(caller: Principal, group_id: int) -> bool:
    visible = caller.visible_groups
    return visible is None or group_id in visible


def _bodies(here: Services, found: list[Group], address: str) -> list[dict[str, Any]]:
    hosts, teams = groups.host_counts(here.database), groups.team_roles(here.database)
    return [
        group_body(group, hosts.get(group.id, 0), teams.get(group.id, []), address)
        for group in found
    ]
