"""Sensor groups: what their sensors do, and how further hosts come into one."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of, scope_of_request
from vedette.api.http.pages import PAGE_TAG
from vedette.api.http.router import Router
from vedette.api.schemas.group import group_body
from vedette.api.schemas.parameters import ID_MAX, bounded_number
from vedette.api.services import Services, services
from vedette.console.group_options import shown_options
from vedette.console.render import render
from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import ROLE_NAMES, Principal, Role
from vedette.model.scope import Scope
from vedette.state.accounts import teams
from vedette.state.accounts.teams import Team
from vedette.state.policy import filters, groups, watchlists
from vedette.state.policy.groups import Group
from vedette.state.policy.watchlists import ALL_GROUPS
from vedette.state.sensors import sensor_list
from vedette.state.sensors.enrolment import Secret, group_secrets
from vedette.state.sensors.sensor_list import SensorQuery

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Caller = Annotated[Principal, Depends(principal_of)]

INSTALLERS: Final = ("linux", "windows/exe", "windows/msi", "osx")


@router.get("/ui/groups", summary="Sensor groups")
async def listed(request: Request, here: Here, scope: Within, caller: Caller) -> Response:
    def work() -> list[tuple[Group, int]]:
        found = [one for one in groups.all_groups(here.database) if _sees(caller, one.id)]
        return [(one, _members(here, scope, one.id)) for one in found]

    return render(request, "screens/groups.html", groups=await to_thread.run_sync(work))


@router.get("/ui/groups/{group_id}", summary="A sensor group")
async def one(
    group_id: str, request: Request, here: Here, scope: Within, caller: Caller
) -> Response:
    """Its options as a form, each with what a change of it means."""

    def work() -> dict[str, Any]:
        number = _number(group_id)
        if not _sees(caller, number):
            raise NotFoundError(f"there is no sensor group {number}")
        found = groups.get(here.database, number)
        return {
            "group": found,
            "was": group_body(found, 0, [], ""),
            "members": _members(here, scope, number),
            "sections": shown_options(found.options),
            "secrets": _secrets(here, caller, number),
            "teams": _teams(here, number) if caller.is_global_admin else [],
            **_touching(here, number),
        }

    found = await to_thread.run_sync(work)
    administers = caller.role_in(found["group"].id) >= Role.ADMINISTRATOR
    return render(
        request,
        "screens/group.html",
        installers=INSTALLERS,
        administers=administers,
        may_change=caller.is_global_admin,
        roles=ROLE_NAMES,
        **found,
    )


def _members(here: Services, scope: Scope, group_id: int) -> int:
    wanted = SensorQuery(group_id=group_id, rows=0)
    return sensor_list.page(here.database, scope, wanted, here.clock.now_us()).total


def _touching(here: Services, group_id: int) -> dict[str, Any]:
    """Filters and watchlists that are about the hosts of a group, those of all groups too."""
    with here.database.reading() as connection:
        watched = watchlists.all_watchlists(connection)
    return {
        "filters": [
            one
            for one in filters.load(here.database)[1]
            if one.is_global or group_id in one.group_ids
        ],
        "watchlists": [one for one in watched if one.group_id in (group_id, ALL_GROUPS)],
    }


def _secrets(here: Services, caller: Principal, group_id: int) -> list[Secret]:
    """The group's enrolment secrets, for who may have them; the page says how old they are."""
    if caller.role_in(group_id) < Role.ADMINISTRATOR:
        return []
    return group_secrets(here.database, group_id)


def _teams(here: Services, group_id: int) -> list[tuple[Team, Role]]:
    """Teams that have a role in a group, those with the most first."""
    found = [
        (team, access.role)
        for team in teams.all_teams(here.database)
        for access in team.access
        if access.group_id == group_id and access.role > Role.NONE
    ]
    return sorted(found, key=lambda pair: (-pair[1], pair[0].name))


def _sees(caller: Principal, group_id: int) -> bool:
    return caller.role_in(group_id) >= Role.VIEWER


def _number(text: str) -> int:
    try:
        return bounded_number("group_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"there is no sensor group {text[:40]!r}") from None
