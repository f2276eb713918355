"""Reads the credential of a request.

Analysts' tools send `X-Auth-Token` (docs/api-authentication.md#credentials). Senders use the ways
that Elasticsearch outputs support: Basic with the secret as the password, `ApiKey` with base64 of
`id:secret`, or `Bearer`. Every method accepts `ID:SECRET`, as the server prints it, as well as the
secret alone. The cloud API adds access tokens (JWTs, as Bearer) and `SECRET/ID` of an app or key in
X-Auth-Token. An id, if sent, must be the token's id. Only the user name of Basic may be arbitrary,
since some senders require a name and log it. A signed-in browser sends the session cookie.
"""

import base64
import binascii
import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from fastapi import Request

from vedette.errors import ForbiddenError, UnauthorizedError


@dataclass(frozen=True, slots=True)
class Credential:
    """A secret that a request presents, with the token id sent along, if any."""

    secret: str
    token_id: str | None = None
    is_session: bool = False
    """Whether the secret is from the session cookie."""
    kind: Literal["token", "app", "access token"] = "token"
    """`app` for the secret of an app or key, whose id is `token_id`."""
    is_basic: bool = False
    """Whether the secret was sent by Basic authentication, which only senders of telemetry may use:
    browsers remember such credentials and add them to requests that other sites initiate."""


_READING: Final = frozenset({"GET", "HEAD"})

_DOTS_OF_JWT: Final = 2

SESSION_COOKIE: Final = "__Host-vedette-session"
"""Browsers accept a cookie with this prefix over HTTPS only, for this host and all paths."""

CSRF_HEADER: Final = "x-csrf-token"


def csrf_token(secret: str) -> str:
    """Returns the CSRF token, which is derived from the session's secret. A page sends it with
    every change. Another site can make a browser send the cookie, but cannot read this token."""
    return hmac.digest(secret.encode(), b"csrf", sha256).hex()


def masked_csrf_token(secret: str) -> str:
    """Returns the CSRF token as pages contain it: a random pad, then the token XOR the pad. Without
    the mask, the length of compressed pages would leak the repeated token (BREACH)."""
    token = bytes.fromhex(csrf_token(secret))
    pad = secrets.token_bytes(len(token))
    return (pad + _xor(pad, token)).hex()


def _unmasked(sent: str) -> str:
    """Returns the CSRF token inside a masked token; returns other texts unchanged."""
    try:
        both = bytes.fromhex(sent)
    except ValueError:
        return sent
    size = sha256().digest_size
    return _xor(both[:size], both[size:]).hex() if len(both) == 2 * size else sent


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def credential_of(request: Request) -> Credential:
    """Returns the credential of a request. Raises UnauthorizedError without one, and ForbiddenError
    for a session's change that may come from another site."""
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
        raise UnauthorizedError("authentication required: X-Auth-Token, Bearer, Basic, or ApiKey")
    if credential.is_session and request.method not in _READING:
        _check_origin(request, credential.secret)
    return credential


def is_of_own_site(request: Request) -> bool:
    """Returns whether a page of this server or the address bar initiated the request, according to
    the browser's Sec-Fetch-Site header."""
    return request.headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _check_origin(request: Request, secret: str) -> None:
    """Raises ForbiddenError for a change that another site may have made the browser send."""
    sent = request.headers.get(CSRF_HEADER, "")
    if not is_of_own_site(request) or not hmac.compare_digest(
        csrf_token(secret).encode(), _unmasked(sent).encode()
    ):
        raise ForbiddenError(
            "changes with a session require the X-CSRF-Token header", reason="csrf_token_needed"
        )


def basic_pair(request: Request) -> tuple[str, str] | None:
    """Returns user name and password of Basic authentication, unparsed; None without the header.
    Raises UnauthorizedError for invalid base64."""
    scheme, _, value = request.headers.get("authorization", "").strip().partition(" ")
    return _pair(value) if scheme.lower() == "basic" else None


def is_sensor(request: Request) -> bool:
    """Returns whether a request presents a sensor key."""
    return request.headers.get("authorization", "").strip().lower().startswith("sensor ")


def sensor_credential(request: Request) -> tuple[int, str]:
    """Returns sensor id and key from `Authorization: Sensor ID:KEY`.

    Raises UnauthorizedError without them.
    """
    value = request.headers.get("authorization", "").strip().partition(" ")[2]
    number, _, key = value.strip().partition(":")
    if not is_sensor(request) or not (number.isascii() and number.isdecimal() and key):
        raise UnauthorizedError("sensor authentication required: Authorization: Sensor ID:KEY")
    return int(number[:20]), key


def _token(text: str) -> Credential:
    """Parses `ID:SECRET` or the secret alone (neither contains a colon), `SECRET/ID` of an app, or
    an access token, which has two dots."""
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
        raise UnauthorizedError("the Authorization header is not Base64 of id:secret") from error
    before, _, after = text.partition(":")
    return before, after
