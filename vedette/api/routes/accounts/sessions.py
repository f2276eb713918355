"""Sessions of browsers: sign in, see where one is signed in, end that; the second factor."""

from functools import partial
from typing import Annotated, Any

import segno
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.api.http.access import check_address, principal_of
from vedette.api.http.client_address import client_address
from vedette.api.http.credential_bodies import credential_object
from vedette.api.http.credentials import (
    SESSION_COOKIE,
    credential_of,
    csrf_token,
    is_of_own_site,
)
from vedette.api.http.request_bodies import json_object
from vedette.api.http.responses import json_answer
from vedette.api.http.router import Router
from vedette.api.http.session_cookie import session_name, set_session_cookie
from vedette.api.schemas.body_members import Members
from vedette.api.schemas.wire_values import instant, known_instant
from vedette.api.services import Services, services
from vedette.errors import BadRequestError, ForbiddenError, NotFoundError, UnauthorizedError
from vedette.model.principal import ROLE_NAMES, Principal
from vedette.state.accounts import second_factor, sign_in, tokens
from vedette.state.accounts.sign_in import Attempt
from vedette.state.accounts.tokens import Token
from vedette.state.db.author import Author, set_author

router = Router(tags=["sessions"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.post("/api/v1/session", summary="Sign in")
async def begin(request: Request, here: Here) -> Response:
    """Takes `username` and `password`, or the `link` that `vedette user link` made, and where the
    user has a second factor, `code`. Sets the cookie of a session and answers the `csrf_token` that
    every change needs as `X-CSRF-Token`. 401 for wrong ones, the same for users that do not exist;
    401 `link_ended` for a link that was used or is too old; 401 `second_factor_needed` where only
    the code is missing; 429 `locked_out` after too many attempts; 403 where the approved list is
    in force and does not have the address; 403 `other_site` where a page of another site makes the
    browser do it, which would sign somebody in as somebody else."""
    check_address(request, here)
    if not is_of_own_site(request):
        raise ForbiddenError("another site cannot sign anybody in", reason="other_site")
    body = await credential_object(request)
    members = Members(body, known=("username", "password", "link", "code"), of="a sign-in")
    link = members.text("link") or ""
    if link and ("username" in body or "password" in body):
        raise BadRequestError("link: stands for a user and a password; send it without them")
    attempt = Attempt(
        members.text("username") or "",
        members.text("password") or "",
        members.text("code") or "",
        client_address(request, here.settings.trusted_proxies),
    )
    client = session_name(request, attempt.address)
    name = attempt.username.lower()[: limits.USER_DETAIL_CHARS_MAX]
    set_author(Author("user", name, attempt.address, request.state.request_id))
    issued = await to_thread.run_sync(_begin, here, attempt, link, client, limiter=here.sign_ins)
    answer = json_answer(_state(here, here.tokens.authenticate(issued.secret), issued.secret))
    set_session_cookie(answer, issued.secret)
    return answer


@router.get("/api/v1/session", summary="Who is signed in")
def current(request: Request, here: Here, caller: Caller) -> Response:
    """Also of a caller with a token, without `csrf_token` then."""
    secret = credential_of(request).secret if caller.is_session else ""
    return json_answer(_state(here, caller, secret))


@router.delete("/api/v1/session", summary="Sign out")
def end(here: Here, caller: Caller) -> Response:
    """Ends the session at once, and removes its cookie."""
    if not caller.is_session:
        raise BadRequestError("there is no session: the request has a token")
    here.tokens.revoke(caller.token_id)
    answer = json_answer({"result": "success"})
    answer.delete_cookie(SESSION_COOKIE, path="/", secure=True, httponly=True, samesite="strict")
    return answer


@router.get("/api/v1/session/list", summary="Where one is signed in")
def listed(here: Here, caller: Caller) -> Response:
    """The caller's sessions, the live ones first."""
    now_us = here.clock.now_us()
    found = sorted(
        _sessions(here, caller), key=lambda one: (not one.is_good(now_us), -one.created_us)
    )
    return json_answer([_body(one, caller, now_us) for one in found])


@router.delete("/api/v1/session/{session_id}", summary="End a session")
def revoke(session_id: str, here: Here, caller: Caller) -> Response:
    """One of the caller's."""
    if session_id not in {one.id for one in _sessions(here, caller)}:
        raise NotFoundError(f"there is no session {session_id[:40]!r}")
    here.tokens.revoke(session_id)
    return json_answer({"result": "success"})


@router.post("/api/v1/secondfactor", summary="Propose a second factor")
def propose(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """The answer has the `uri` for an authenticator (otpauth), shown once, with the `secret` that
    is in it, and its QR code: `qr`, rows of `1` (dark) and `0`, without a margin. It is in force
    when it was confirmed with `PUT`. Takes the `password`: a session that was left open must not be
    enough. 429 `locked_out` after too many wrong ones."""
    password = Members(body, known=("password",), of="the request").text("password") or ""
    _prove(request, here, caller, password)
    proposed = second_factor.propose(here.database, here.sealing, caller.name)
    squares = segno.make(proposed.uri, micro=False).matrix
    rows = ["".join(str(square) for square in row) for row in squares]
    return json_answer({"uri": proposed.uri, "secret": proposed.secret, "qr": rows})


@router.put("/api/v1/secondfactor", summary="Confirm a second factor")
def confirm(here: Here, caller: Caller, body: Body) -> Response:
    """Takes a `code` of it; from now on signing in needs one. Every code is good once."""
    code = Members(body, known=("code",), of="a confirmation").text("code") or ""
    now_us = here.clock.now_us()
    second_factor.confirm(here.database, here.sealing, caller.name, code, now_us)
    return json_answer({"result": "success"})


@router.delete("/api/v1/secondfactor", summary="Remove a second factor")
def remove(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Takes the `password`: a session that was left open must not be enough. 429 `locked_out` after
    too many wrong ones."""
    password = Members(body, known=("password",), of="the request").text("password") or ""
    _prove(request, here, caller, password)
    second_factor.remove(here.database, caller.name)
    return json_answer({"result": "success"})


@router.put("/api/v1/me/password", summary="Change one's own password")
async def change_password(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Takes the present `password` and a `new_password`: a session that was left open must not be
    enough. Ends the caller's other sessions; tokens stay. 400 for a wrong one, also for a user who
    has none; 429 `locked_out` after too many."""
    members = Members(body, known=("password", "new_password"), of="a change of the password")
    change = partial(
        sign_in.change_password,
        *(here.database, caller.name),
        *(members.text("password") or "", members.text("new_password") or ""),
        *(client_address(request, here.settings.trusted_proxies), here.clock.now_us()),
        own_session=caller.token_id,
    )
    await to_thread.run_sync(change, limiter=here.sign_ins)
    here.tokens.clear_cache()
    return json_answer({"result": "success"})


def _prove(request: Request, here: Services, caller: Principal, password: str) -> None:
    address = client_address(request, here.settings.trusted_proxies)
    sign_in.prove_password(here.database, caller.name, password, address, here.clock.now_us())


def _begin(here: Services, attempt: Attempt, link: str, client: str) -> tokens.Issued:
    now_us = here.clock.now_us()
    if link:
        return sign_in.sign_in_by_link(here.database, here.sealing, link, attempt, client, now_us)
    return sign_in.sign_in(here.database, here.sealing, attempt, client, now_us)


def _sessions(here: Services, caller: Principal) -> list[Token]:
    own = tokens.all_tokens(here.database, caller.name)
    return [one for one in own if one.kind == "session"]


def _state(here: Services, caller: Principal | None, secret: str) -> dict[str, Any]:
    if caller is None:
        raise UnauthorizedError("the session has ended")
    return {
        "username": caller.name,
        "global_admin": caller.is_global_admin,
        "groups": [
            {"group_id": group_id, "access_category": ROLE_NAMES[role]}
            for group_id, role in caller.roles
        ],
        "second_factor": second_factor.is_in_force(here.database, caller.name),
        "csrf_token": csrf_token(secret) if secret else None,
    }


def _body(session: Token, caller: Principal, now_us: int) -> dict[str, Any]:
    return {
        "id": session.id,
        "client": session.name,
        "created": instant(session.created_us),
        "last_used": known_instant(session.last_used_us),
        "last_address": session.last_address,
        "expires": instant(session.expires_us),
        "is_good": session.is_good(now_us),
        "is_current": session.id == caller.token_id,
    }
