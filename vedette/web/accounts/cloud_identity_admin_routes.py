"""Roles, apps and keys of the cloud API, for administrators (docs/cloud.md#identity)."""

from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.responses import Response

from vedette.errors import BadRequestError, NotFoundError
from vedette.model.rights.authorization import Deed
from vedette.model.rights.permission import PERMISSIONS
from vedette.state.accounts import cloud_apps, cloud_roles
from vedette.state.accounts.cloud_apps import AppChange
from vedette.state.accounts.cloud_roles import RoleChange
from vedette.web.accounts.cloud_identity_json import app_body, new_app_body, role_body
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import Members
from vedette.web.json.parameters import ID_MAX, bounded_number

router = Router(tags=["cloud identity"])

Here = Annotated[Services, Depends(services)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_BASE: Final = "/api/v1/cloud"


@router.get(f"{_BASE}/permission", right=Right.ADMINISTER, summary="List permissions")
def permissions() -> Response:
    """Returns all permissions with their names on both platforms."""
    return json_answer(
        [
            {"name": one.name, "platform_name": one.platform_name, "what": one.what}
            for one in PERMISSIONS.values()
        ]
    )


@router.get(f"{_BASE}/role", right=Right.ADMINISTER, summary="List roles")
def roles(here: Here) -> Response:
    """Returns roles by name."""
    return json_answer([role_body(one) for one in cloud_roles.all_roles(here.database)])


@router.post(f"{_BASE}/role", right=Deed.CHANGE_APPS, summary="Create a role")
def create_role(here: Here, body: Body) -> Response:
    """Body: `name`, `description`, `permissions` (names), and `groups` (ids of sensor groups; null
    or missing for all). Returns the role."""
    return json_answer(role_body(cloud_roles.add(here.database, _role(body))))


@router.get(f"{_BASE}/role/{{role_id}}", right=Right.ADMINISTER, summary="Get a role")
def role(role_id: str, here: Here) -> Response:
    return json_answer(role_body(cloud_roles.get(here.database, _role_id(role_id))))


@router.put(f"{_BASE}/role/{{role_id}}", right=Deed.CHANGE_APPS, summary="Change a role")
def change_role(role_id: str, here: Here, body: Body) -> Response:
    """Changes the given members. Takes effect immediately, also for issued access tokens."""
    changed = cloud_roles.change(here.database, _role_id(role_id), _role(body))
    here.access_tokens.clear_cache()
    return json_answer(role_body(changed))


@router.delete(f"{_BASE}/role/{{role_id}}", right=Deed.CHANGE_APPS, summary="Delete a role")
def delete_role(role_id: str, here: Here) -> Response:
    """Deletes the role. Its apps remain, without its permissions."""
    cloud_roles.remove(here.database, _role_id(role_id))
    here.access_tokens.clear_cache()
    return json_answer({"result": "success"})


@router.get(f"{_BASE}/app", right=Right.ADMINISTER, summary="List apps and keys")
def apps(here: Here) -> Response:
    """Returns apps and keys by name, without their secrets."""
    return json_answer([app_body(one) for one in cloud_apps.all_apps(here.database)])


@router.post(f"{_BASE}/app", right=Deed.CHANGE_APPS, summary="Create an app or a key")
def create_app(here: Here, body: Body) -> Response:
    """Body: `kind` (`oauth`, the default, or `key`), `name`, `description`, `token_ttl_s`,
    `org_role` and `roles` (ids). Returns the app with its `secret`, which is shown only once."""
    kind = body.get("kind", "oauth")
    if kind not in ("oauth", "key"):
        raise BadRequestError("kind: must be oauth or key")
    app, issued = cloud_apps.add(here.database, kind, _app(body), here.clock.now_us())
    return json_answer(new_app_body(app, issued.secret))


@router.get(f"{_BASE}/app/{{app_id}}", right=Right.ADMINISTER, summary="Get an app or key")
def app(app_id: str, here: Here) -> Response:
    return json_answer(app_body(cloud_apps.get(here.database, app_id)))


@router.put(f"{_BASE}/app/{{app_id}}", right=Deed.CHANGE_APPS, summary="Change an app or key")
def change_app(app_id: str, here: Here, body: Body) -> Response:
    """Changes the given members; `enabled` false ends its tokens. Takes effect immediately."""
    changed = cloud_apps.change(here.database, app_id, _app(body))
    here.access_tokens.clear_cache()
    return json_answer(app_body(changed))


@router.delete(f"{_BASE}/app/{{app_id}}", right=Deed.CHANGE_APPS, summary="Delete an app or key")
def delete_app(app_id: str, here: Here) -> Response:
    """Deletes the app or key. Its tokens end immediately."""
    cloud_apps.remove(here.database, app_id)
    here.access_tokens.clear_cache()
    return json_answer({"result": "success"})


@router.post(
    f"{_BASE}/app/{{app_id}}/secret",
    right=Deed.CHANGE_APPS,
    summary="Replace the secret of an app or key",
)
def new_secret(app_id: str, here: Here) -> Response:
    """The previous secret and all tokens issued with it end immediately. Returns the app with its
    new `secret`, which is shown only once."""
    issued = cloud_apps.new_secret(here.database, app_id)
    here.access_tokens.clear_cache()
    return json_answer(new_app_body(cloud_apps.get(here.database, app_id), issued.secret))


def _role(body: dict[str, Any]) -> RoleChange:
    members = Members(
        body,
        known=("name", "description", "permissions", "groups"),
        ignored=("id",),
        of="a role",
    )
    named = _texts(body, "permissions")
    return RoleChange(
        members.text("name"),
        members.text("description"),
        named,
        _ids(body, "groups"),
        in_all_groups=True if "groups" in body and body["groups"] is None else None,
    )


def _app(body: dict[str, Any]) -> AppChange:
    members = Members(
        body,
        known=("name", "description", "token_ttl_s", "org_role", "enabled", "roles", "kind"),
        ignored=("id", "created", "last_used", "permissions"),
        of="an app",
    )
    ttl_s = body.get("token_ttl_s")
    return AppChange(
        name=members.text("name"),
        description=members.text("description"),
        org_role=members.text("org_role"),
        token_ttl_s=None if ttl_s is None else bounded_number("token_ttl_s", ttl_s),
        is_enabled=members.flag("enabled"),
        roles=_ids(body, "roles"),
    )


def _texts(body: dict[str, Any], name: str) -> list[str] | None:
    given = body.get(name)
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise BadRequestError(f"{name}: must be a list of strings")
    return given


def _ids(body: dict[str, Any], name: str) -> list[int] | None:
    given = body.get(name)
    if given is None:
        return None
    if not isinstance(given, list):
        raise BadRequestError(f"{name}: must be a list of ids")
    return [bounded_number(name, one, most=ID_MAX) for one in given]


def _role_id(text: str) -> int:
    try:
        return bounded_number("role_id", text, most=ID_MAX)
    except BadRequestError:
        raise NotFoundError(f"role {text[:40]!r} not found") from None
