"""Browser cookies: for the session, and for a pending sign-in through an identity provider."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vedette.limits import IDENTITY_SIGN_IN_S, SESSION_S_MAX, Limit
from vedette.web.http.credentials import SESSION_COOKIE

SESSION_NAME_CHARS_MAX: Limit[int] = 100
"""Characters of the browser's user agent that the list of sessions shows."""


ATTEMPT_COOKIE: Final = "__Host-vedette-sign-in"
"""Cookie of a pending sign-in. Unlike the session cookie, browsers send it when another site
redirects back to the server."""


def set_session_cookie(answer: Response, secret: str) -> None:
    answer.set_cookie(
        SESSION_COOKIE,
        secret,
        max_age=SESSION_S_MAX,
        path="/",
        secure=True,
        httponly=True,
        samesite="strict",
    )


def set_attempt_cookie(answer: Response, value: str) -> None:
    """Sets the cookie of a pending sign-in; an empty value deletes it."""
    answer.set_cookie(
        ATTEMPT_COOKIE,
        value,
        max_age=IDENTITY_SIGN_IN_S if value else 0,
        path="/",
        secure=True,
        httponly=True,
        samesite="lax",
    )


def session_name(request: Request, address: str) -> str:
    """Returns the name of a session for the list of sessions: address and browser."""
    agent = request.headers.get("user-agent", "")[:SESSION_NAME_CHARS_MAX]
    shown = "".join(one for one in agent if one.isprintable())
    return f"{address} {shown or 'browser'}"[:SESSION_NAME_CHARS_MAX]
