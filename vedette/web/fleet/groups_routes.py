"""Routes of sensor groups under their three paths, and of their subresources
(docs/clients.md#aliases)."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.record.answers import many
from vedette.record.bodies import Sent
from vedette.record.objects.sensor_group import (
    GROUP,
    GROUP_CHANGE,
    MADE_GROUP,
    NEW_GROUP,
    ChangedGroup,
    Group,
    GroupOptions,
    GroupRequest,
)
from vedette.state.policy import groups
from vedette.state.policy.groups import DEFAULT_SITE_ID, GroupChanges
from vedette.web.fleet.groups_json import group_body, group_changes, unused_options
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.declared_bodies import json_body
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.server_url import server_url
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number

router = Router(tags=["sensor groups"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Address = Annotated[str, Depends(server_url)]


@router.get(
    "/api/group",
    right=Right.READ,
    summary="List sensor groups",
    response_model=many(GROUP),
)
@router.get(
    "/api/v1/group", right=Right.READ, summary="List sensor groups", response_model=many(GROUP)
)
@router.get(
    "/api/v3/group", right=Right.READ, summary="List sensor groups", response_model=many(GROUP)
)
def listed(here: Here, caller: Caller, address: Address) -> Response:
    """Returns the groups in which the caller has a role, by id."""
    found = [one for one in groups.all_groups(here.database) if may_see(caller, one.id)]
    return json_answer(_bodies(here, found, address))


@router.post(
    "/api/group",
    right=Deed.CHANGE_GROUPS,
    summary="Create a sensor group",
    response_model=MADE_GROUP,
)
@router.post(
    "/api/v1/group",
    right=Deed.CHANGE_GROUPS,
    summary="Create a sensor group",
    response_model=MADE_GROUP,
)
@router.post(
    "/api/v3/group",
    right=Deed.CHANGE_GROUPS,
    summary="Create a sensor group",
    response_model=MADE_GROUP,
)
def create(
    here: Here, address: Address, body: Annotated[Sent[GroupRequest], Depends(json_body(NEW_GROUP))]
) -> Response:
    """Creates a group and returns the record, with its `id`. Only the name is required. `warnings`
    lists options that have no effect."""
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
    here.tokens.clear_cache()  # a role in every group no longer covers all groups
    answer = _bodies(here, [group], address)[0]
    return json_answer(answer | _warnings(wanted, GroupOptions()))


@router.get(
    "/api/group/{group_id}",
    right=Right.READ,
    summary="Get a sensor group",
    response_model=many(GROUP),
)
@router.get(
    "/api/v1/group/{group_id}",
    right=Right.READ,
    summary="Get a sensor group",
    response_model=many(GROUP),
)
@router.get(
    "/api/v3/group/{group_id}",
    right=Right.READ,
    summary="Get a sensor group",
    response_model=many(GROUP),
)
def one(group_id: str, here: Here, caller: Caller, address: Address) -> Response:
    """Returns a list with a single record, as clients expect."""
    return json_answer(_bodies(here, [visible_group(here, caller, group_id)], address))


@router.put(
    "/api/group/{group_id}",
    right=Deed.CHANGE_GROUPS,
    summary="Change a sensor group",
    response_model=ChangedGroup,
)
@router.put(
    "/api/v1/group/{group_id}",
    right=Deed.CHANGE_GROUPS,
    summary="Change a sensor group",
    response_model=ChangedGroup,
)
@router.put(
    "/api/v3/group/{group_id}",
    right=Deed.CHANGE_GROUPS,
    summary="Change a sensor group",
    response_model=ChangedGroup,
)
def change(
    group_id: str,
    here: Here,
    caller: Caller,
    address: Address,
    body: Annotated[Sent[GroupRequest], Depends(json_body(GROUP_CHANGE))],
) -> Response:
    """Changes the given members. `warnings` lists options that are stored but have no effect. Error
    409 `changed_meanwhile`: a member differs from its value in `was`."""
    known = visible_group(here, caller, group_id)
    # Records show the server's own address if the group has none, and clients send it back.
    wanted = group_changes(body)
    if wanted.sensorbackend_server == address and not known.sensorbackend_server:
        wanted = replace(wanted, sensorbackend_server=None)
    teams = groups.team_roles(here.database).get(known.id, [])
    hosts = groups.host_counts(here.database).get(known.id, 0)

    def check(found: Group) -> None:
        body.check_unchanged(group_body(found, hosts, teams, address))

    groups.change(here.database, known.id, wanted, check)
    here.privacy.reload()
    here.filters.reload()
    here.sensors.refresh(here.clock.now_us())
    return json_answer({"result": "success"} | _warnings(wanted, known.options))


@router.delete("/api/group/{group_id}", right=Deed.CHANGE_GROUPS, summary="Delete a sensor group")
@router.delete(
    "/api/v1/group/{group_id}", right=Deed.CHANGE_GROUPS, summary="Delete a sensor group"
)
@router.delete(
    "/api/v3/group/{group_id}", right=Deed.CHANGE_GROUPS, summary="Delete a sensor group"
)
def delete(group_id: str, here: Here, caller: Caller) -> Response:
    """Deletes a group with its ingest tokens and enrollment secrets. Error 409: the group is the
    default group, or it has sensors."""
    groups.remove(here.database, visible_group(here, caller, group_id).id)
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


@router.get(
    "/api/group/{group_id}/datasharing",
    right=Right.READ,
    summary="Get data sharing of a sensor group",
)
@router.get(
    "/api/v1/group/{group_id}/datasharing",
    right=Right.READ,
    summary="Get data sharing of a sensor group",
)
@router.get(
    "/api/v3/group/{group_id}/datasharing",
    right=Right.READ,
    summary="Get data sharing of a sensor group",
)
def datasharing(group_id: str, here: Here, caller: Caller) -> Response:
    """Always returns an empty list: the server does not share data."""
    visible_group(here, caller, group_id)
    return json_answer([])


def _warnings(changes: GroupChanges, known: GroupOptions) -> dict[str, list[str]]:
    """Returns the member `warnings` if a change has no effect, otherwise an empty object."""
    found = unused_options(changes, known)
    return {"warnings": found} if found else {}


def visible_group(here: Services, caller: Principal, text: str) -> Group:
    """Returns the group that a path names. Raises NotFoundError if it does not exist or the caller
    may not see it."""
    try:
        number = bounded_number("group_id", text, most=ID_MAX)
    except BadRequestError:
        number = 0
    if not number or not may_see(caller, number):
        raise NotFoundError(f"sensor group {text[:40]!r} not found")
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
