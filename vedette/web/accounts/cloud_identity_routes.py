"""The identity platform: access tokens for apps and users, and the public keys to verify them."""

from typing import Annotated, Any
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError
from vedette.limits import Limit
from vedette.state.accounts.access_tokens import AccessToken
from vedette.web.http.access import check_address
from vedette.web.http.bodies.credential_bodies import unauthenticated_body
from vedette.web.http.client_address import client_address
from vedette.web.http.credentials import basic_pair
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services

FORM_FIELDS_MAX: Limit[int] = 20
"""Fields of a form that requests an access token; it needs three."""


router = Router(tags=["cloud identity"])

Here = Annotated[Services, Depends(services)]


@router.post(
    "/csp/gateway/am/api/auth/token", right=Right.IN_BODY, summary="Get an access token for an app"
)
async def token(request: Request, here: Here) -> Response:
    """Body: a form with `grant_type=client_credentials`. Send the id and secret of an OAuth app by
    Basic authentication, or as `client_id` and `client_secret` in the form. Returns 401 for wrong
    credentials, 429 `locked_out` after too many attempts."""
    form = await _form(request)
    if form.get("grant_type") != "client_credentials":
        raise BadRequestError("grant_type: must be client_credentials")
    app_id, secret = basic_pair(request) or (
        form.get("client_id", ""),
        form.get("client_secret", ""),
    )
    if not app_id or not secret:
        raise BadRequestError(
            "the app's id and secret are missing: send them as Basic authentication"
        )
    check_address(request, here)
    return _answer(
        await to_thread.run_sync(
            here.access_tokens.issue,
            app_id,
            secret,
            client_address(request, here.settings.trusted_proxies),
            limiter=here.authentications,
        )
    )


@router.post(
    "/csp/gateway/am/api/auth/api-tokens/authorize",
    right=Right.IN_BODY,
    summary="Get an access token for a user",
)
async def authorize(request: Request, here: Here) -> Response:
    """Body: a form with a user's API token as `api_token` (also `refresh_token`). The access token
    has the user's rights, and ends with the API token."""
    form = await _form(request)
    api_token = form.get("api_token") or form.get("refresh_token") or ""
    if not api_token:
        raise BadRequestError("api_token: is required")
    check_address(request, here)
    return _answer(
        await to_thread.run_sync(
            here.access_tokens.authorize,
            api_token,
            client_address(request, here.settings.trusted_proxies),
            limiter=here.authentications,
        )
    )


@router.get(
    "/.well-known/jwks.json",
    right=Right.OPEN,
    summary="Get the public keys of access tokens",
)
def keys(here: Here) -> Response:
    """Returns JSON Web Keys (RFC 7517) for ES256, newest first."""
    return json_answer({"keys": here.access_tokens.public_keys()})


async def _form(request: Request) -> dict[str, str]:
    """Returns the fields of a form without repetitions. Raises BadRequestError."""
    body = await unauthenticated_body(request)
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX)
    except (UnicodeDecodeError, ValueError):
        raise BadRequestError("the body is not a form: application/x-www-form-urlencoded") from None
    if twice := [name for name, values in fields.items() if len(values) > 1]:
        raise BadRequestError(f"{twice[0][:40]}: is given more than once")
    return {name: values[0] for name, values in fields.items()}


def _answer(issued: AccessToken) -> Response:
    body: dict[str, Any] = {
        "access_token": issued.text,
        "token_type": "bearer",
        "expires_in": issued.expires_s,
        "scope": " ".join(issued.scope),
    }
    return json_answer(body)
