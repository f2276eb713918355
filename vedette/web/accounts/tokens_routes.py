"""API tokens of users, and ingest tokens of sensor groups.

Users issue, list and revoke their own API tokens. Global administrators do so for all users, and
for ingest tokens. A secret is shown only once, in the response that issues it.
"""

from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.errors import BadRequestError, ForbiddenError, NotFoundError
from vedette.limits import TOKEN_EXPIRES_DAYS_MAX
from vedette.model.principal import Principal
from vedette.model.rights.authorization import EVERYWHERE, Deed, owned_by, require
from vedette.state.accounts import tokens, users
from vedette.state.accounts.tokens import NewToken, Token
from vedette.web.http.access import principal_of
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.json.body_members import Members
from vedette.web.json.parameters import ID_MAX, bounded_number, described
from vedette.web.json.wire_values import instant, known_instant

router = Router(tags=["users"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_DAY_US = 24 * 3600 * 1_000_000


@router.get(
    "/api/v1/token",
    right=Right.READ,
    summary="List tokens",
    openapi_extra=described(("user", "Tokens of this user only; for global administrators")),
)
def listed(request: Request, here: Here, caller: Caller) -> Response:
    """Returns the caller's own tokens; for global administrators all tokens, including ingest
    tokens. Without secrets."""
    user = request.query_params.get("user", "")
    if not caller.is_global_admin and user.lower() not in ("", caller.name):
        raise ForbiddenError(f"{caller.name} may only list tokens of {caller.name}")
    wanted = (user.lower() or None) if caller.is_global_admin else caller.name
    now_us = here.clock.now_us()
    found = tokens.all_tokens(here.database, wanted)
    return json_answer([_body(one, now_us) for one in found if one.kind not in ("session", "link")])


@router.post("/api/v1/token", right=Right.READ, summary="Issue a token")
def issue(here: Here, caller: Caller, body: Body) -> Response:
    """Body: `name`, `scope` (`full`, or `read` for a token that changes nothing) and `expires_days`
    (0 for never, only for global administrators); from global administrators also `user` or, for an
    ingest token, `group_id`. Returns the token with its `secret`, which is not shown again. A token
    cannot issue a token that outlives it: returns 403 for more days than it has left."""
    known = ("name", "user", "group_id", "expires_days", "scope")
    members = Members(body, known=known, of="a new token")
    now_us = here.clock.now_us()
    username = (members.text("user") or caller.name).lower()
    is_own = body.get("group_id") is None
    require(caller, Deed.CHANGE_TOKEN, owned_by(username) if is_own else EVERYWHERE)
    new = NewToken(
        "api" if body.get("group_id") is None else "ingest",
        members.text("name") or "",
        user_id=users.id_of(here.database, username),
        group_id=_group_id(body),
        expires_us=_expires_us(here, caller, body, now_us),
        is_read_only=_scope(members, is_ingest=body.get("group_id") is not None) == "read",
    )
    issued = tokens.issue(here.database, new, now_us)
    found = next(one for one in tokens.all_tokens(here.database) if one.id == issued.id)
    return json_answer(_body(found, now_us) | {"secret": issued.secret})


@router.delete("/api/v1/token/{token_id}", right=Right.READ, summary="Revoke a token")
def revoke(token_id: str, here: Here, caller: Caller) -> Response:
    """Revokes the token immediately; it remains listed. Returns 404 for a token of another user,
    except to global administrators."""
    username = None if caller.is_global_admin else caller.name
    seen = {one.id: one for one in tokens.all_tokens(here.database, username)}
    if token_id not in seen:
        raise NotFoundError(f"token {token_id[:40]!r} not found")
    require(caller, Deed.CHANGE_TOKEN, owned_by(seen[token_id].holder))
    here.tokens.revoke(token_id)
    return json_answer({"result": "success"})


def _scope(members: Members, *, is_ingest: bool) -> str:
    known = ("ingest",) if is_ingest else ("full", "read")
    scope = members.text("scope") or known[0]
    if scope not in known:
        raise BadRequestError(f"scope: {scope[:20]!r} is not one of {', '.join(known)}")
    return scope


def _group_id(body: dict[str, Any]) -> int | None:
    given = body.get("group_id")
    return None if given is None else bounded_number("group_id", given, least=1, most=ID_MAX)


def _expires_us(here: Services, caller: Principal, body: dict[str, Any], now_us: int) -> int:
    """Returns the expiration time, 0 for never. A token cannot issue a token that outlives it."""
    given = body.get("expires_days")
    days = (
        here.settings.token_lifetime_days
        if given is None
        else bounded_number("expires_days", given, most=TOKEN_EXPIRES_DAYS_MAX)
    )
    if given is not None and not days and not caller.is_global_admin:
        raise BadRequestError("expires_days: only global administrators can set 0 (never)")
    wanted_us = now_us + days * _DAY_US if days else 0
    end_us = _end_of(here, caller)
    if not end_us or 0 < wanted_us <= end_us:
        return wanted_us
    if given is not None:
        raise ForbiddenError(
            "expires_days: must not exceed the lifetime of the token of this request"
        )
    return end_us


def _end_of(here: Services, caller: Principal) -> int:
    """Returns the expiration time of the caller's token; 0 for sessions, which a password protects,
    and for commands on the server's machine."""
    if caller.is_session or caller.token_id in here.approved_addresses.own_tokens:
        return 0
    return tokens.expiry_of(here.database, caller.token_id)


def _body(token: Token, now_us: int) -> dict[str, Any]:
    return {
        "id": token.id,
        "kind": token.kind,
        "scope": "ingest" if token.kind == "ingest" else "read" if token.is_read_only else "full",
        "name": token.name,
        "holder": token.holder,
        "created": instant(token.created_us),
        "expires": known_instant(token.expires_us),
        "revoked": known_instant(token.revoked_us),
        "last_used": known_instant(token.last_used_us),
        "last_address": token.last_address,
        "is_good": token.is_good(now_us),
    }
