"""Signatures of requests from one server to another.

All servers of a state database share a secret stored in it. A signature covers sender, receiver,
time and body digest. A replayed signature is valid only for the same body to the same server for a
minute, and a forwarded request that arrives twice is stored once. The signature can be checked
before the body is read.
"""

import hmac
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from vedette.errors import UnauthorizedError
from vedette.limits import Limit
from vedette.state.db.database import Database
from vedette.state.db.key_values import load, save_new

SERVER_TOKEN_S: Limit[int] = 60
"""Validity of a server's signature of a request: clocks of servers differ."""


SCHEME: Final = "Vedette-Server"
_NAME: Final = "server_secret"
_FIELDS: Final = 5


@dataclass(frozen=True, slots=True)
class Signed:
    """The content of a valid signature; `digest` is the SHA-256 of the body in hex."""

    sender: str
    digest: str


class ServerTokens:
    """Signs and checks with the secret of a state database, which is created at its first use."""

    def __init__(self, database: Database) -> None:
        if load(database, _NAME) is None:
            save_new(database, _NAME, b64encode(secrets.token_bytes(32)).decode())
        self._secret = b64decode(load(database, _NAME) or "")

    def sign(self, sender: str, receiver: str, body: bytes, now_us: int) -> str:
        """Returns the value of the `Authorization` header."""
        fields = (sender, receiver, str(now_us), sha256(body).hexdigest())
        return " ".join((SCHEME, *fields, self._mac(fields)))

    def check(self, header: str, receiver: str, now_us: int) -> Signed:
        """Checks the header. Raises UnauthorizedError. The caller must compare the body with the
        returned digest."""
        scheme, _, rest = header.partition(" ")
        fields = rest.split(" ")
        if scheme != SCHEME or len(fields) != _FIELDS or not rest.isascii():
            raise UnauthorizedError("the request is not signed by another server")
        sender, to, sent_us, digest, mac = fields
        if not hmac.compare_digest(self._mac((sender, to, sent_us, digest)), mac):
            raise UnauthorizedError("the signature is wrong")
        if to != receiver:
            raise UnauthorizedError("the request is signed for another server")
        if not sent_us.isdecimal() or abs(now_us - int(sent_us)) > SERVER_TOKEN_S * 1_000_000:
            raise UnauthorizedError("the signature is too old, or a clock is wrong")
        return Signed(sender, digest)

    def _mac(self, fields: tuple[str, ...]) -> str:
        return hmac.new(self._secret, " ".join(fields).encode(), sha256).hexdigest()


def is_digest_of(digest: str, body: bytes) -> bool:
    return hmac.compare_digest(digest, sha256(body).hexdigest())
