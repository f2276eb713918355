"""Pages of sensor groups: options of their sensors, and installers for further hosts."""

from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import ROLE_NAMES, Principal, Role
from vedette.model.rights.authorization import EVERYWHERE, Deed, may, of_groups
from vedette.model.scope import Scope
from vedette.record.objects.sensor_group import Group
from vedette.record.objects.watchlist import ALL_GROUPS
from vedette.respond.installers import sensor_version
from vedette.state.accounts import teams
from vedette.state.accounts.teams import Team
from vedette.state.policy import filters, groups, watchlists
from vedette.state.sensors import sensor_list
from vedette.state.sensors.enrolment import Secret, group_secrets
from vedette.state.sensors.installers import package_for
from vedette.state.sensors.sensor_list import SensorQuery
from vedette.web.fleet.groups_json import group_body
from vedette.web.http.access import principal_of, scope_of_request
from vedette.web.http.pages import PAGE_TAG
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.server_url import server_url
from vedette.web.http.services import Services, services
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.page.group_options import shown_options
from vedette.web.page.render import render

router = Router(tags=[PAGE_TAG], include_in_schema=False)

Here = Annotated[Services, Depends(services)]
Within = Annotated[Scope, Depends(scope_of_request)]
Caller = Annotated[Principal, Depends(principal_of)]

INSTALLERS: Final = {
    "linux": ("linux", ""),
    "windows/exe": ("windows", "exe"),
    "windows/msi": ("windows", "msi"),
    "osx": ("osx", "pkg"),
}
"""Maps the end of an installer's path to its operating system and package kind. Vedette's own Linux
sensor is not a registered package and has no kind."""

NO_INSTALLER: Final = (
    "No package registered. Register one with: vedette installer add --os {1} --kind {2} FILE",
    "No Linux sensor on this server",
)
"""Reasons why an installer is not available."""


@router.get("/ui/groups", right=Right.READ, summary="List sensor groups")
async def listed(request: Request, here: Here, scope: Within, caller: Caller) -> Response:
    def work() -> list[tuple[Group, int]]:
        found = [one for one in groups.all_groups(here.database) if _sees(caller, one.id)]
        return [(one, _members(here, scope, one.id)) for one in found]

    return render(request, "fleet/groups.html", groups=await to_thread.run_sync(work))


@router.get("/ui/groups/{group_id}", right=Right.READ, summary="Show a sensor group")
async def one(
    group_id: str,
    request: Request,
    here: Here,
    scope: Within,
    caller: Caller,
    address: Annotated[str, Depends(server_url)],
) -> Response:
    """Shows the options as a form, with the meaning of each change."""

    def work() -> dict[str, Any]:
        number = _number(group_id)
        if not _sees(caller, number):
            raise NotFoundError(f"sensor group {number} not found")
        found = groups.get(here.database, number)
        return {
            "group": found,
            "was": group_body(found, 0, [], address),
            "members": _members(here, scope, number),
            "sections": shown_options(found.options),
            "secrets": _secrets(here, caller, number),
            "teams": _teams(here, number) if caller.is_global_admin else [],
            **_touching(here, number),
            "without": _without_package(here, number),
        }

    found = await to_thread.run_sync(work)
    administers = may(caller, Deed.FETCH_INSTALLER, of_groups(found["group"].id))
    return render(
        request,
        "fleet/group.html",
        installers=INSTALLERS,
        no_installer=NO_INSTALLER,
        administers=administers,
        may_change=may(caller, Deed.CHANGE_GROUPS, EVERYWHERE),
        roles=ROLE_NAMES,
        **found,
    )


def _without_package(here: Services, group_id: int) -> dict[str, tuple[str, str]]:
    """Maps the path ends of unavailable installers to operating system and package kind."""
    return {
        end: (os, kind)
        for end, (os, kind) in INSTALLERS.items()
        if not (package_for(here.database, os, kind, group_id) if kind else sensor_version())
    }


def _members(here: Services, scope: Scope, group_id: int) -> int:
    wanted = SensorQuery(group_id=group_id, rows=0)
    return sensor_list.page(here.database, scope, wanted, here.clock.now_us()).total


def _touching(here: Services, group_id: int) -> dict[str, Any]:
    """Returns filters and watchlists that apply to hosts of a group, including those for all
    groups."""
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
    """Returns the group's enrollment secrets if the caller may have them. The page shows their
    age."""
    if not may(caller, Deed.FETCH_INSTALLER, of_groups(group_id)):
        return []
    return group_secrets(here.database, group_id)


def _teams(here: Services, group_id: int) -> list[tuple[Team, Role]]:
    """Returns the teams with a role in a group, highest role first."""
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
        raise NotFoundError(f"sensor group {text[:40]!r} not found") from None
