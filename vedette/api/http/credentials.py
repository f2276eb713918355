"""Reads the credential of a request.

Tools of analysts send `X-Auth-Token` (docs/http-api.md#who-may-call-what). Senders use what
Elasticsearch outputs can be configured with: Basic with the secret as the password, `ApiKey` with
base64 of `id:secret`, or `Bearer`. Wherever a token may stand, `ID:SECRET` as the server prints it
is understood as well as the secret alone. Of the cloud side come access tokens (JWTs, as Bearer)
and `SECRET/ID` of an app or key in X-Auth-Token. An id that is given must be that of the token;
only the user name of Basic may be anything, since some senders insist on one and log it. A browser
that signed in sends the cookie of its session.
"""

import base64
import binascii
import hmac
from dataclasses import dataclass
from typing import Final, Literal

from fastapi import Request

from vedette.errors import ForbiddenError, UnauthorizedError


@dataclass(frozen=True, slots=True)
class Credential:
    """A presented secret, and the token id sent with it, None without one."""

    secret: str
    token_id: str | None = None
    is_session: bool = False
    """Whether it came in the cookie of a session."""
    kind: Literal["token", "app", "access token"] = "token"
    """`app` for the secret of an app or key, whose id is `token_id`."""
    is_basic: bool = False
    """Whether it came as Basic, which is for senders of telemetry alone: browsers remember it, and
    send it along with what another site makes them ask."""


_READING: Final = frozenset({"GET", "HEAD"})

_DOTS_OF_JWT: Final = 2

SESSION_COOKIE: Final = "__Host-vedette-session"
"""With this prefix browsers take it over HTTPS only, for this host and all paths."""

CSRF_HEADER: Final = "x-csrf-token"


def csrf_token(secret: str) -> str:
    """What a page has to send with every change, made from the session's secret: another site can
    make a browser send the cookie, but cannot read this."""
    return hmac.digest(secret.encode(), b"csrf", "sha256").hex()


def credential_of(request: Request) -> Credential:
    """The credential of a request. Raises UnauthorizedError without one."""
    token = request.headers.get("x-auth-token", "").strip()
    if token:
        return _token(token)
    scheme, _, value = request.headers.get("authorization", "").strip().partition(" ")
    match scheme.lower():
        case "bearer":
            credential = _token(value.strip())
        case "basic":
            credential = Credential(_token(_pair(value)[1]).secret, is_basic=True)
        case "apikey":
            plain = value.strip()
            credential = _token(plain if ":" in plain else ":".join(_pair(plain)))
        case "":
            credential = Credential(request.cookies.get(SESSION_COOKIE, ""), is_session=True)
        case _:
            credential = Credential("")
    if not credential.secret:
        raise UnauthorizedError("a token is needed: X-Auth-Token, Bearer, Basic or ApiKey")
    if credential.is_session and request.method not in _READING:
        _check_origin(request, credential.secret)
    return credential


def is_of_own_site(request: Request) -> bool:
    """Whether a page of this server makes a request, or somebody who typed its address: no page of
    another site, as far as the browser says it."""
    return request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _check_origin(request: Request, secret: str) -> None:
    """Raises ForbiddenError for a change that another site may have made the browser send."""
    sent = request.headers.get(CSRF_HEADER, "")
    if not is_of_own_site(request) or not hmac.compare_digest(
        csrf_token(secret).encode(), sent.encode()
    ):
        raise ForbiddenError(
            "a session's changes need the header X-CSRF-Token", reason="csrf_token_needed"
        )


def basic_pair(request: Request) -> tuple[str, str] | None:
    """User name and password of Basic, as they stand; None without them. Raises
    UnauthorizedError for what is no base64."""
    scheme, _, value = request.headers.get("authorization", "").strip().partition(" ")
    return _pair(value) if scheme.lower() == "basic" else None


def is_sensor(request: Request) -> bool:
    """Whether a request presents the key of a sensor."""
    return request.headers.get("authorization", "").strip().lower().startswith("sensor ")


def sensor_credential(request: Request) -> tuple[int, str]:
    """Sensor id and key of `Authorization: Sensor ID:KEY`.

    Raises UnauthorizedError without one.
    """
    value = request.headers.get("authorization", "").strip().partition(" ")[2]
    number, _, key = value.strip().partition(":")
    if not is_sensor(request) or not (number.isascii() and number.isdecimal() and key):
        raise UnauthorizedError("a sensor's key is needed: Authorization: Sensor ID:KEY")
    return int(number[:20]), key


def _token(text: str) -> Credential:
    """`ID:SECRET`, or the secret alone: neither holds a colon. `SECRET/ID` is an app's; an access
    token has two dots."""
    if text.count(".") == _DOTS_OF_JWT:
        return Credential(text, kind="access token")
    secret, slash, app_id = text.partition("/")
    if slash:
        return Credential(secret.strip(), app_id.strip(), kind="app")
    before, colon, after = text.rpartition(":")
    return Credential(after, before.strip() or None) if colon else Credential(text)


def _pair(encoded: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UnauthorizedError("the Authorization header is not base64 of id:secret") from error
    before, _, after = text.partition(":")
    return before, after
