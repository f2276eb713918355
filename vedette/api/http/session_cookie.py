"""The cookies of a browser: of its session, and of a sign-in that is on its way."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vedette.api.http.credentials import SESSION_COOKIE
from vedette.limits import IDENTITY_SIGN_IN_S, SESSION_NAME_CHARS_MAX, SESSION_S_MAX

ATTEMPT_COOKIE: Final = "__Host-vedette-sign-in"
"""Comes along when another site sends the browser back here, as a session's never does."""


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
    """ "" removes it."""
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
    """What a session is called in the list of sessions: where it is, and the browser."""
    agent = request.headers.get("user-agent", "")[:SESSION_NAME_CHARS_MAX]
    shown = "".join(one for one in agent if one.isprintable())
    return f"{address} {shown or 'browser'}"[:SESSION_NAME_CHARS_MAX]
