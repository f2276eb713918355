"""Reads the credential of a request.

Tools of analysts send `X-Auth-Token` (docs/http-api.md#who-may-call-what). Senders use what
Elasticsearch outputs can be configured with: Basic with the secret as the password, `ApiKey` with
base64 of `id:secret`, or `Bearer`. Wherever a token may stand, `ID:SECRET` as the server prints it
is understood as well as the secret alone. An id that is given must be that of the token; only the
user name of Basic may be anything, since some senders insist on one and log it.
"""

import base64
import binascii
from dataclasses import dataclass

from fastapi import Request

from vedette.errors import UnauthorizedError


@dataclass(frozen=True, slots=True)
class Credential:
    """A presented secret, and the token id sent with it, None without one."""

    secret: str
    token_id: str | None = None


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
            credential = Credential(_token(_pair(value)[1]).secret)
        case "apikey":
            plain = value.strip()
            credential = _token(plain if ":" in plain else ":".join(_pair(plain)))
        case _:
            credential = Credential("")
    if not credential.secret:
        raise UnauthorizedError("a token is needed: X-Auth-Token, Bearer, Basic or ApiKey")
    return credential


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
    """`ID:SECRET`, or the secret alone: neither holds a colon."""
    before, colon, after = text.rpartition(":")
    return Credential(after, before.strip() or None) if colon else Credential(text)


def _pair(encoded: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise UnauthorizedError("the Authorization header is not base64 of id:secret") from error
    before, _, after = text.partition(":")
    return before, after
