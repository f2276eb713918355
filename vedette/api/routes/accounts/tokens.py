"""API tokens of users, and ingest tokens of sensor groups.

Everybody issues, lists and ends their own API tokens; global administrators those of everybody, and
ingest tokens. A secret is shown once, in the answer that issues it.
"""

from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from vedette.api.http.access import principal_of
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.schemas.body_members import Members
from vedette.api.schemas.parameters import ID_MAX, bounded_number, described
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ForbiddenError, NotFoundError
from vedette.limits import TOKEN_EXPIRES_DAYS_MAX
from vedette.model.principal import Principal
from vedette.state.accounts import tokens, users
from vedette.state.accounts.tokens import NewToken, Token

router = Router(tags=["users"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]

_DAY_US = 24 * 3600 * 1_000_000


@router.get(
    "/api/v1/token",
    summary="Tokens",
    openapi_extra=described(("user", "Tokens of this user only; for global administrators")),
)
def listed(request: Request, here: Here, caller: Caller) -> Response:
    """The caller's own; all, ingest tokens too, for global administrators. Without secrets."""
    user = request.query_params.get("user", "")
    if not caller.is_global_admin and user.lower() not in ("", caller.name):
        raise ForbiddenError(f"{caller.name} may only list tokens of {caller.name}")
    wanted = (user.lower() or None) if caller.is_global_admin else caller.name
    now_us = here.clock.now_us()
    found = tokens.all_tokens(here.database, wanted)
    return json_answer([_body(one, now_us) for one in found if one.kind not in ("session", "link")])


@router.post("/api/v1/token", summary="Issue a token")
def issue(here: Here, caller: Caller, body: Body) -> Response:
    """Takes `name`, `scope` (`full`, or `read` for a token that changes nothing) and
    `expires_days` (0: never, where the caller is a global administrator), and from global
    administrators `user` or, for an ingest token, `group_id`. The answer has the `secret`, which is
    not shown again. What a token issues ends with that token at the latest: 403 for more days than
    it has left."""
    known = ("name", "user", "group_id", "expires_days", "scope")
    members = Members(body, known=known, of="a new token")
    now_us = here.clock.now_us()
    username = (members.text("user") or caller.name).lower()
    is_own = username == caller.name and body.get("group_id") is None
    if not is_own and not caller.is_global_admin:
        raise ForbiddenError(f"{caller.name} may only issue tokens of {caller.name}")
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


@router.delete("/api/v1/token/{token_id}", summary="Revoke a token")
def revoke(token_id: str, here: Here, caller: Caller) -> Response:
    """At once; it stays listed. 404 for a token of somebody else, but for global
    administrators."""
    username = None if caller.is_global_admin else caller.name
    if token_id not in {one.id for one in tokens.all_tokens(here.database, username)}:
        raise NotFoundError(f"there is no token {token_id[:40]!r}")
    here.tokens.revoke(token_id)
    return json_answer({"result": "success"})


def _scope(members: Members, *, is_ingest: bool) -> str:
    known = ("ingest",) if is_ingest else ("full", "read")
    scope = members.text("scope") or known[0]
    if scope not in known:
        raise BadRequestError(f"scope: {scope[:20]!r} is none of {', '.join(known)}")
    return scope


def _group_id(body: dict[str, Any]) -> int | None:
    given = body.get("group_id")
    return None if given is None else bounded_number("group_id", given, least=1, most=ID_MAX)


def _expires_us(here: Services, caller: Principal, body: dict[str, Any], now_us: int) -> int:
    """When it ends; 0 for never. No token lives on in one that it issued."""
    given = body.get("expires_days")
    days = (
        here.settings.token_lifetime_days
        if given is None
        else bounded_number("expires_days", given, most=TOKEN_EXPIRES_DAYS_MAX)
    )
    if given is not None and not days and not caller.is_global_admin:
        raise BadRequestError("expires_days: only a global administrator's may be 0, for ever")
    wanted_us = now_us + days * _DAY_US if days else 0
    end_us = _end_of(here, caller)
    if not end_us or 0 < wanted_us <= end_us:
        return wanted_us
    if given is not None:
        raise ForbiddenError(
            "expires_days: a token issues none that outlives it; sign in, or use another one"
        )
    return end_us


def _end_of(here: Services, caller: Principal) -> int:
    """When the token that asks ends; 0 for a session, which has a password behind it, and for
    commands on the server's machine."""
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
