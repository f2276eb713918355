"""Formats roles, apps and keys."""

from typing import Any

from vedette.state.accounts.cloud_apps import CloudApp
from vedette.state.accounts.cloud_roles import CloudRole
from vedette.web.json.wire_values import instant, known_instant

Body = dict[str, Any]


def role_body(role: CloudRole) -> Body:
    return {
        "id": role.id,
        "name": role.name,
        "description": role.description,
        "permissions": list(role.permissions),
        "groups": None if role.groups is None else list(role.groups),
    }


def app_body(app: CloudApp) -> Body:
    return {
        "id": app.id,
        "kind": app.kind,
        "name": app.name,
        "description": app.description,
        "org_role": app.org_role,
        "token_ttl_s": app.token_ttl_s,
        "enabled": app.is_enabled,
        "created": instant(app.created_us),
        "last_used": known_instant(app.last_used_us),
        "roles": [role.id for role in app.roles],
        "permissions": sorted({name for role in app.roles for name in role.permissions}),
    }


def new_app_body(app: CloudApp, secret: str) -> Body:
    """Returns an app with its secret, and the header value of a native key."""
    return app_body(app) | {"secret": secret, "auth_token": f"{secret}/{app.id}"}
