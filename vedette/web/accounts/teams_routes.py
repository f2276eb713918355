"""Teams, which give their members roles in sensor groups."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import ROLE_NAMES, Role
from vedette.model.rights.authorization import Deed
from vedette.state.accounts import teams
from vedette.state.accounts.teams import Team
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import Members
from vedette.web.json.parameters import ID_MAX, bounded_number

router = Router(tags=["users"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_ROLES: Final = {name: role for role, name in ROLE_NAMES.items()}


@router.get("/api/v1/teams", right=Right.ADMINISTER, summary="List teams")
@router.get("/api/teams", right=Right.ADMINISTER, summary="List teams")
def listed(here: Here) -> Response:
    """Returns teams by id, with their roles."""
    return json_answer([_body(team) for team in teams.all_teams(here.database)])


@router.post("/api/v1/team", right=Deed.CHANGE_TEAMS, summary="Create a team")
@router.post("/api/team", right=Deed.CHANGE_TEAMS, summary="Create a team")
def create(here: Here, body: Body) -> Response:
    """Body: `name` and `group_access`, a list of `group_id` and `access_category` (No Access,
    Viewer, Analyst, Administrator). Returns the team."""
    members = _members(body)
    team = teams.add(here.database, members.text("name") or "", _access(body) or {})
    return json_answer(_body(team))


@router.get("/api/v1/team/{team_id}", right=Right.ADMINISTER, summary="Get a team")
@router.get("/api/team/{team_id}", right=Right.ADMINISTER, summary="Get a team")
def one(team_id: str, here: Here) -> Response:
    return json_answer(_body(teams.get(here.database, _number(team_id))))


@router.put("/api/v1/team/{team_id}", right=Deed.CHANGE_TEAMS, summary="Change a team")
@router.put("/api/team/{team_id}", right=Deed.CHANGE_TEAMS, summary="Change a team")
def change(team_id: str, here: Here, body: Body) -> Response:
    """Body: `name`, `enabled`, and `group_access`, which replaces all roles of the team. A disabled
    team gives no roles. Takes effect immediately."""
    members = _members(body)
    team = teams.change(
        here.database,
        _number(team_id),
        name=members.text("name"),
        access=_access(body),
        is_enabled=members.flag("enabled"),
    )
    here.tokens.clear_cache()
    return json_answer(_body(team) | {"result": "success"})


@router.delete("/api/v1/team/{team_id}", right=Deed.CHANGE_TEAMS, summary="Delete a team")
@router.delete("/api/team/{team_id}", right=Deed.CHANGE_TEAMS, summary="Delete a team")
def delete(team_id: str, here: Here) -> Response:
    """Deletes the team. Its members remain, without its roles."""
    teams.remove(here.database, _number(team_id))
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


def _members(body: dict[str, Any]) -> Members:
    return Members(
        body, known=("name", "group_access", "enabled"), ignored=("id", "result"), of="a team"
    )


def _access(body: dict[str, Any]) -> dict[int, Role] | None:
    """Returns roles by sensor group; None if missing."""
    given = body.get("group_access")
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise BadRequestError("group_access: must be a list of objects")
    roles: dict[int, Role] = {}
    for one in given:
        role = _ROLES.get(str(one.get("access_category")))
        if role is None:
            raise BadRequestError(f"access_category: must be one of {', '.join(_ROLES)}")
        roles[bounded_number("group_id", one.get("group_id"), least=1, most=ID_MAX)] = role
    return roles


def _number(text: str) -> int:
    try:
        return bounded_number("team_id", text, least=1, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"team {text[:40]!r} not found") from None


def _body(team: Team) -> dict[str, Any]:
    return {
        "id": team.id,
        "name": team.name,
        "enabled": team.is_enabled,
        "group_access": [
            {
                "group_id": access.group_id,
                "group_name": access.group_name,
                "access_category": ROLE_NAMES[access.role],
            }
            for access in team.access
        ],
    }
