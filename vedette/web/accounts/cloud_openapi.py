"""OpenAPI schemas of the identity platform, and the routes that use them."""

from collections.abc import Mapping
from typing import Final

from vedette.web.json.terms import (
    FLAG,
    INTEGER,
    OBJECT,
    TEXT,
    TIME,
    Schema,
    alike,
    listing,
    nullable,
    record,
)

_BASE: Final = "/api/v1/cloud"
_AUTH: Final = "/csp/gateway/am/api/auth"

_ROLE: Final[dict[str, Schema]] = {
    "id": INTEGER,
    **alike(("name", "description"), TEXT),
    "permissions": listing(TEXT),
    "groups": nullable(listing(INTEGER)),
}
_APP: Final[dict[str, Schema]] = {
    "id": TEXT,
    "kind": {"enum": ["oauth", "key"]},
    **alike(("name", "description"), TEXT),
    "org_role": {"enum": ["member", "owner"]},
    "token_ttl_s": INTEGER,
    "enabled": FLAG,
    "created": TIME,
    "last_used": nullable(TIME),
    "roles": listing(INTEGER),
    "permissions": listing(TEXT),
}

IDENTITY: Final[dict[str, Schema]] = {
    "AccessToken": record(
        {**alike(("access_token", "token_type", "scope"), TEXT), "expires_in": INTEGER}
    ),
    "SigningKeys": record({"keys": listing(OBJECT)}),
    "CloudPermission": record(alike(("name", "platform_name", "what"), TEXT)),
    "CloudRole": record(_ROLE),
    "CloudApp": record(_APP),
    "NewCloudApp": record(_APP | alike(("secret", "auth_token"), TEXT)),
}
"""Maps component name to schema."""

IDENTITY_ONE: Final[Mapping[tuple[str, str], str]] = {
    ("POST", f"{_AUTH}/token"): "AccessToken",
    ("POST", f"{_AUTH}/api-tokens/authorize"): "AccessToken",
    ("GET", "/.well-known/jwks.json"): "SigningKeys",
    ("POST", f"{_BASE}/role"): "CloudRole",
    ("GET", f"{_BASE}/role/{{role_id}}"): "CloudRole",
    ("PUT", f"{_BASE}/role/{{role_id}}"): "CloudRole",
    ("DELETE", f"{_BASE}/role/{{role_id}}"): "Success",
    ("POST", f"{_BASE}/app"): "NewCloudApp",
    ("GET", f"{_BASE}/app/{{app_id}}"): "CloudApp",
    ("PUT", f"{_BASE}/app/{{app_id}}"): "CloudApp",
    ("DELETE", f"{_BASE}/app/{{app_id}}"): "Success",
    ("POST", f"{_BASE}/app/{{app_id}}/secret"): "NewCloudApp",
}
"""Routes that return a single object."""

IDENTITY_MANY: Final[Mapping[tuple[str, str], str]] = {
    ("GET", f"{_BASE}/permission"): "CloudPermission",
    ("GET", f"{_BASE}/role"): "CloudRole",
    ("GET", f"{_BASE}/app"): "CloudApp",
}
"""Routes that return a list."""


def _object(**members: Schema) -> Schema:
    return {"type": "object", "properties": members, "additionalProperties": True}


_ROLE_CHANGE: Final = _object(
    name=TEXT, description=TEXT, permissions=listing(TEXT), groups=nullable(listing(INTEGER))
)
_APP_CHANGE: Final = _object(
    name=TEXT,
    description=TEXT,
    kind=TEXT,
    org_role=TEXT,
    token_ttl_s=INTEGER,
    enabled=FLAG,
    roles=listing(INTEGER),
)

IDENTITY_BODIES: Final[Mapping[tuple[str, str], Schema]] = {
    ("POST", f"{_BASE}/role"): _ROLE_CHANGE,
    ("PUT", f"{_BASE}/role/{{role_id}}"): _ROLE_CHANGE,
    ("POST", f"{_BASE}/app"): _APP_CHANGE,
    ("PUT", f"{_BASE}/app/{{app_id}}"): _APP_CHANGE,
}
"""JSON bodies of requests by route."""

_FORM: Final = "application/x-www-form-urlencoded"

IDENTITY_FORMS: Final[Mapping[tuple[str, str], tuple[str, Schema]]] = {
    ("POST", f"{_AUTH}/token"): (
        _FORM,
        _object(grant_type=TEXT, client_id=TEXT, client_secret=TEXT),
    ),
    ("POST", f"{_AUTH}/api-tokens/authorize"): (
        _FORM,
        _object(api_token=TEXT, refresh_token=TEXT),
    ),
}
"""Form bodies of requests by route."""
