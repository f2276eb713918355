"""Browser sessions: sign in, list and end sessions; the second factor; the caller's password."""

from functools import partial
from typing import Annotated, Any

import segno
from anyio import to_thread
from fastapi import Depends, Request
from starlette.responses import Response

from vedette import limits
from vedette.errors import BadRequestError, ForbiddenError, NotFoundError, UnauthorizedError
from vedette.model.principal import ROLE_NAMES, Principal
from vedette.state.accounts import second_factor, sign_in, tokens
from vedette.state.accounts.sign_in import Attempt
from vedette.state.accounts.tokens import Token
from vedette.state.db.author import Author, set_author
from vedette.web.http.access import check_address, principal_of
from vedette.web.http.bodies.credential_bodies import credential_object
from vedette.web.http.bodies.request_bodies import json_object
from vedette.web.http.client_address import client_address
from vedette.web.http.credentials import SESSION_COOKIE, credential_of, csrf_token, is_of_own_site
from vedette.web.http.responses import json_answer
from vedette.web.http.rights.right import Right
from vedette.web.http.router import Router
from vedette.web.http.services import Services, services
from vedette.web.http.session_cookie import session_name, set_session_cookie
from vedette.web.json.body_members import Members
from vedette.web.json.wire_values import instant, known_instant

router = Router(tags=["sessions"])

Here = Annotated[Services, Depends(services)]
Caller = Annotated[Principal, Depends(principal_of)]
Body = Annotated[dict[str, Any], Depends(json_object)]


@router.post("/api/v1/session", right=Right.IN_BODY, summary="Sign in")
async def begin(request: Request, here: Here) -> Response:
    """Body: `username` and `password`, or the `link` from `vedette user link`, and `code` if the
    user has a second factor. Sets the session cookie and returns the `csrf_token`, which every
    change needs as `X-CSRF-Token`. Returns 401 for wrong credentials, also for users that do not
    exist; 401 `link_ended` for a used or expired link; 401 `second_factor_needed` if only the code
    is missing; 429 `locked_out` after too many attempts; 403 if the approved list is on and does
    not contain the address; 403 `other_site` if a page of another site initiated the request, which
    could sign the user in to a foreign account."""
    check_address(request, here)
    if not is_of_own_site(request):
        raise ForbiddenError("cross-site sign-in is not allowed", reason="other_site")
    body = await credential_object(request)
    members = Members(body, known=("username", "password", "link", "code"), of="a sign-in")
    link = members.text("link") or ""
    if link and ("username" in body or "password" in body):
        raise BadRequestError("link: cannot be combined with a user and password")
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


@router.get("/api/v1/session", right=Right.READ, summary="Get the current session")
def current(request: Request, here: Here, caller: Caller) -> Response:
    """Returns the caller and their rights. Also works with a token; `csrf_token` is then null."""
    secret = credential_of(request).secret if caller.is_session else ""
    return json_answer(_state(here, caller, secret))


@router.delete("/api/v1/session", right=Right.READ, summary="Sign out")
def end(here: Here, caller: Caller) -> Response:
    """Ends the session and deletes its cookie."""
    if not caller.is_session:
        raise BadRequestError("the request has no session, only a token")
    here.tokens.revoke(caller.token_id)
    answer = json_answer({"result": "success"})
    answer.delete_cookie(SESSION_COOKIE, path="/", secure=True, httponly=True, samesite="strict")
    return answer


@router.get("/api/v1/session/list", right=Right.READ, summary="List the caller's sessions")
def listed(here: Here, caller: Caller) -> Response:
    """Returns the caller's sessions, valid ones first."""
    now_us = here.clock.now_us()
    found = sorted(
        _sessions(here, caller), key=lambda one: (not one.is_good(now_us), -one.created_us)
    )
    return json_answer([_body(one, caller, now_us) for one in found])


@router.delete("/api/v1/session/{session_id}", right=Right.READ, summary="End a session")
def revoke(session_id: str, here: Here, caller: Caller) -> Response:
    """Ends a session of the caller."""
    if session_id not in {one.id for one in _sessions(here, caller)}:
        raise NotFoundError(f"session {session_id[:40]!r} not found")
    here.tokens.revoke(session_id)
    return json_answer({"result": "success"})


@router.post("/api/v1/secondfactor", right=Right.READ, summary="Propose a second factor")
def propose(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Body: `password`, so that an unattended session is not sufficient. Returns the `uri` for an
    authenticator app (otpauth), shown only once, with its `secret` and QR code: `qr` has rows of
    `1` (dark) and `0`, without a margin. The second factor takes effect after confirmation with
    `PUT`. Returns 429 `locked_out` after too many wrong passwords."""
    password = Members(body, known=("password",), of="the request").text("password") or ""
    _prove(request, here, caller, password)
    proposed = second_factor.propose(here.database, here.sealing, caller.name)
    squares = segno.make(proposed.uri, micro=False).matrix
    rows = ["".join(str(square) for square in row) for row in squares]
    return json_answer({"uri": proposed.uri, "secret": proposed.secret, "qr": rows})


@router.put("/api/v1/secondfactor", right=Right.READ, summary="Confirm a second factor")
def confirm(here: Here, caller: Caller, body: Body) -> Response:
    """Body: a `code` of the second factor, which sign-ins require from then on. Each code is valid
    once."""
    code = Members(body, known=("code",), of="a confirmation").text("code") or ""
    now_us = here.clock.now_us()
    second_factor.confirm(here.database, here.sealing, caller.name, code, now_us)
    return json_answer({"result": "success"})


@router.delete("/api/v1/secondfactor", right=Right.READ, summary="Remove a second factor")
def remove(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Body: `password`, so that an unattended session is not sufficient. Returns 429 `locked_out`
    after too many wrong passwords."""
    password = Members(body, known=("password",), of="the request").text("password") or ""
    _prove(request, here, caller, password)
    second_factor.remove(here.database, caller.name)
    return json_answer({"result": "success"})


@router.put("/api/v1/me/password", right=Right.READ, summary="Change the caller's password")
async def change_password(request: Request, here: Here, caller: Caller, body: Body) -> Response:
    """Body: the current `password`, so that an unattended session is not sufficient, and a
    `new_password`. Ends the caller's other sessions; tokens remain valid. Returns 400 for a wrong
    password and for a user without a password; 429 `locked_out` after too many attempts."""
    members = Members(body, known=("password", "new_password"), of="a change of the password")
    change = partial(
        sign_in.change_password,
        here.database,
        caller.name,
        members.text("password") or "",
        members.text("new_password") or "",
        client_address(request, here.settings.trusted_proxies),
        here.clock.now_us(),
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
