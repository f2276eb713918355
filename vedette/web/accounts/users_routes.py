"""Users, in the format of existing clients (docs/clients.md#requests). Only global administrators
change them; users can read their own record."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.principal import Principal
from vedette.model.rights.authorization import Deed
from vedette.state.accounts import users
from vedette.state.accounts.user_rights import effective_rights
from vedette.state.accounts.users import NewUser, User, UserChanges
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import Members
from vedette.web.json.parameters import ID_MAX, bounded_number
from vedette.web.json.wire_values import instant

router = Router(tags=["users"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_READ_ONLY: Final = ("id", "created", "has_password", "auth_token", "result")


@router.get("/api/v1/users", right=Right.ADMINISTER, summary="List users")
@router.get("/api/users", right=Right.ADMINISTER, summary="List users")
def listed(here: Here) -> Response:
    """Returns users by name."""
    return json_answer([_body(user) for user in users.all_users(here.database)])


@router.post("/api/v1/user", right=Deed.CHANGE_USERS, summary="Create a user")
@router.post("/api/user", right=Deed.CHANGE_USERS, summary="Create a user")
def create(here: Here, body: Body) -> Response:
    """Body: `username`, `first_name`, `last_name`, `email`, `password`, `global_admin`, `teams`
    (ids). Without a password, the user can use only tokens. Returns 409 if the name is taken."""
    members = _members(body)
    new = NewUser(
        members.text("username") or "",
        first_name=members.text("first_name") or "",
        last_name=members.text("last_name") or "",
        email=members.text("email") or "",
        password=members.text("password") or None,
        is_global_admin=bool(members.flag("global_admin")),
        team_ids=_team_ids(body.get("teams")) or (),
    )
    user = users.add(here.database, new, here.clock.now_us())
    return json_answer(_body(user) | {"result": "success"})


@router.get("/api/v1/user/{username}", right=Right.READ, summary="Get a user")
@router.get("/api/user/{username}", right=Right.READ, summary="Get a user")
def one(username: str, here: Here, caller: Caller) -> Response:
    """Users other than global administrators can read only their own record; all others return
    404."""
    if not caller.is_global_admin and username.lower() != caller.name:
        raise NotFoundError(f"user {username[:100]!r} not found")
    return json_answer(_body(users.get(here.database, username)))


@router.get(
    "/api/v1/user/{username}/effective",
    right=Right.READ,
    summary="Get the effective rights of a user",
)
def effective(username: str, here: Here, caller: Caller) -> Response:
    """Returns roles by sensor group, from enabled teams. Users other than global administrators can
    read only their own rights."""
    if not caller.is_global_admin and username.lower() != caller.name:
        raise NotFoundError(f"user {username[:100]!r} not found")
    found = effective_rights(here.database, username)
    # Hides groups from users who may not see them.
    hidden = {} if caller.is_global_admin else {"unseen_groups": [], "all_hosts": found["hosts"]}
    return json_answer(found | hidden)


@router.put("/api/v1/user/{username}", right=Deed.CHANGE_USERS, summary="Change a user")
@router.put("/api/user/{username}", right=Deed.CHANGE_USERS, summary="Change a user")
def change(username: str, here: Here, caller: Caller, body: Body) -> Response:
    """Body: the members of a new user, and `enabled`. Changes the given members. Disabling a user
    locks out all tokens immediately. Disabling, or a new `password`, ends the user's sessions
    except the one that makes the change. Returns 409 for the last enabled global administrator."""
    members = _members(body)
    if (members.text("username") or username).lower() != username.lower():
        raise BadRequestError(f"username: a user cannot be renamed, it must be {username!r}")
    changes = UserChanges(
        first_name=members.text("first_name"),
        last_name=members.text("last_name"),
        email=members.text("email"),
        password=members.text("password") or None,
        is_global_admin=members.flag("global_admin"),
        is_enabled=members.flag("enabled"),
        team_ids=_team_ids(body.get("teams")),
    )
    user = users.change(here.database, username, changes, own_session=caller.token_id)
    here.tokens.clear_cache()
    return json_answer(_body(user) | {"result": "success"})


@router.delete("/api/v1/user/{username}", right=Deed.CHANGE_USERS, summary="Delete a user")
@router.delete("/api/user/{username}", right=Deed.CHANGE_USERS, summary="Delete a user")
def delete(username: str, here: Here) -> Response:
    """Deletes a user with all tokens. Returns 409 for the last enabled global administrator."""
    users.remove(here.database, username)
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


def _members(body: dict[str, Any]) -> Members:
    return Members(
        body,
        known=(
            "username",
            "first_name",
            "last_name",
            "email",
            "password",
            "global_admin",
            "enabled",
            "teams",
        ),
        ignored=_READ_ONLY,
        of="a user",
    )


def _team_ids(given: object) -> tuple[int, ...] | None:
    """Returns ids of teams, given as numbers or as records with an `id`; None if missing."""
    if given is None:
        return None
    if not isinstance(given, list):
        raise BadRequestError("teams: must be a list of team ids")
    ids = [one.get("id") if isinstance(one, dict) else one for one in given]
    return tuple(bounded_number("teams", one, least=1, most=ID_MAX) for one in ids)


def _body(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "username": user.username,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "email": user.email,
        "global_admin": user.is_global_admin,
        "enabled": user.is_enabled,
        "has_password": user.has_password,
        "created": instant(user.created_us),
        "teams": [{"id": team_id, "name": name} for team_id, name in user.teams],
    }
