"""Access tokens: short-lived JWTs that represent an app or a user.

A token names its holder and the number of the holder's secret. The holder's rights are read for
each request, through a cache whose entries live for a second. Taking a role away, replacing a
secret or disabling an app therefore also affects tokens that were issued earlier.
"""

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError
from sqlalchemy import Connection

from vedette.clock import Clock
from vedette.errors import NotFoundError
from vedette.limits import ACCESS_TOKEN_TTL_S, TOKEN_STALE_US, TOKEN_USE_NOTED_US, Limit
from vedette.model.principal import Principal
from vedette.model.rights.permission import PERMISSIONS, has
from vedette.state.accounts import cloud_apps, signing_keys
from vedette.state.accounts.app_guesses import AppGuesses
from vedette.state.accounts.signing_keys import ALGORITHM, SigningKey
from vedette.state.accounts.tokens import Tokens
from vedette.state.db.database import Database
from vedette.state.db.sealing import Sealing

ACCESS_TOKENS_CACHED_MAX: Limit[int] = 10_000
"""Access tokens with a verified signature in the cache; an entry lasts until its token expires."""

ACCESS_TOKEN_CHARS_MAX: Limit[int] = 4_096
"""Characters of a token; longer ones are rejected unread. Our own have about 500."""

SIGNING_KEY_STALE_US: Limit[int] = 1_000_000
"""Maximum age of the cached list of signing keys. An unknown key id rereads the list at once."""


_SECOND_US = 1_000_000
_ISSUER = "vedette"


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An issued token. `scope` lists names of permissions."""

    text: str
    expires_s: int
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Claims:
    """Claims of a token with a valid signature."""

    holder: str
    """`app ID NUMBER` or `token ID`."""
    expires_us: int
    key_id: str
    """Id of the signing key. A token whose key no longer exists is rejected."""


class AccessTokens:
    """Issues and checks access tokens, and checks the secrets of apps. Safe to share between
    threads."""

    def __init__(self, database: Database, sealing: Sealing, clock: Clock, tokens: Tokens) -> None:
        self._database = database
        self._sealing = sealing
        self._clock = clock
        self._tokens = tokens
        self._guesses = AppGuesses(database)
        self._lock = Lock()
        self._keys: tuple[int, list[SigningKey]] = (0, [])
        self._checked: OrderedDict[bytes, _Claims] = OrderedDict()
        self._holders: OrderedDict[str, tuple[int, Principal | None]] = OrderedDict()
        self._noted: dict[str, int] = {}

    def issue(self, app_id: str, secret: str, address: str) -> AccessToken:
        """Issues a token to an app of the identity platform. Raises UnauthorizedError,
        BusyError."""
        now_us = self._clock.now_us()
        app = self._guesses.check(
            app_id, address, now_us, lambda connection: _oauth_app(connection, app_id, secret)
        )
        self._note_use(app.id, now_us)
        holder = f"app {app.id} {app.secret_number}"
        return self._sign(app.principal(), holder, app.token_ttl_s, now_us)

    def authorize(self, api_token: str, address: str) -> AccessToken:
        """Issues a token for the user of an API token. Raises UnauthorizedError, BusyError."""
        now_us = self._clock.now_us()
        principal = self._guesses.check("", address, now_us, lambda _: self._user_of(api_token))
        return self._sign(principal, f"token {principal.token_id}", ACCESS_TOKEN_TTL_S, now_us)

    def with_secret(self, app_id: str, secret: str, address: str) -> Principal:
        """Returns the app or key whose id and secret a request carries. Raises UnauthorizedError,
        BusyError."""
        now_us = self._clock.now_us()
        app = self._guesses.check(
            app_id,
            address,
            now_us,
            lambda connection: cloud_apps.with_secret(connection, app_id, secret),
        )
        self._note_use(app.id, now_us)
        principal = app.principal()
        self._cache(_secret_key(app_id, secret), principal, now_us)
        return principal

    def cached_secret(self, app_id: str, secret: str) -> Principal | None:
        """Like `with_secret`, from the cache alone; None on a cache miss."""
        return self._cached_principal(_secret_key(app_id, secret))[1]

    def with_token(self, text: str) -> Principal | None:
        """Returns the holder of an access token; None for a foreign or expired token, and for a
        holder who no longer exists or is disabled."""
        claims = self._claims(text)
        if claims is None:
            return None
        is_known, principal = self._cached_principal(claims.holder)
        if not is_known:
            principal = self._holder(claims.holder)
            self._cache(claims.holder, principal, self._clock.now_us())
        return principal

    def cached_token(self, text: str) -> Principal | None:
        """Like `with_token`, from the cache alone; None on a cache miss."""
        with self._lock:
            claims = self._checked.get(_digest(text))
        if claims is None or claims.expires_us <= self._clock.now_us():
            return None
        return self._cached_principal(claims.holder)[1]

    def public_keys(self) -> list[dict[str, Any]]:
        """JWKs for verifying our tokens."""
        return [key.public for key in self._signing_keys()]

    def rotate_when_due(self) -> None:
        """Creates the first signing key, or the next if it is due. A timer calls it; issuing a
        token also rotates."""
        self._signing_key(self._clock.now_us())

    def clear_cache(self) -> None:
        """Call after changes of roles, apps, users or teams."""
        with self._lock:
            self._holders.clear()

    def _user_of(self, api_token: str) -> Principal | None:
        token_id, _, secret = api_token.strip().rpartition(":")
        found = self._tokens.authenticate(secret, token_id or None)
        is_good = found is not None and found.kind == "user" and not found.is_session
        return found if is_good else None

    def _holder(self, name: str) -> Principal | None:
        kind, _, rest = name.partition(" ")
        if kind == "token":
            return self._tokens.holder(rest)
        app_id, _, number = rest.partition(" ")
        try:
            app = cloud_apps.get(self._database, app_id)
        except NotFoundError:
            return None
        is_good = app.is_enabled and app.kind == "oauth" and str(app.secret_number) == number
        return app.principal() if is_good else None

    def _sign(self, principal: Principal, holder: str, ttl_s: int, now_us: int) -> AccessToken:
        key = self._signing_key(now_us)
        scope = tuple(one.platform_name for one in PERMISSIONS.values() if has(principal, one))
        now_s = now_us // _SECOND_US
        claims = {
            "iss": _ISSUER,
            "sub": holder,
            "iat": now_s,
            "exp": now_s + ttl_s,
            "jti": secrets.token_hex(8),
            "perms": list(scope),
        }
        header = {"alg": ALGORITHM, "kid": key.id, "typ": "JWT"}
        text = jwt.encode(header, claims, key.pair, algorithms=[ALGORITHM])
        return AccessToken(text, ttl_s, scope)

    def _claims(self, text: str) -> _Claims | None:
        now_us = self._clock.now_us()
        with self._lock:
            known = self._checked.get(_digest(text))
        claims = known or self._verified(text)
        if claims is None or claims.expires_us <= now_us or self._key_named(claims.key_id) is None:
            return None
        with self._lock:
            self._checked[_digest(text)] = claims
            self._checked.move_to_end(_digest(text))
            if len(self._checked) > ACCESS_TOKENS_CACHED_MAX:
                self._checked.popitem(last=False)
        return claims

    def _verified(self, text: str) -> _Claims | None:
        if len(text) > ACCESS_TOKEN_CHARS_MAX:
            return None
        try:
            key_id = jws.extract_compact(text.encode()).headers().get("kid")
            key = self._key_named(str(key_id))
            if key is None:
                return None
            claims = jwt.decode(text, key.pair, algorithms=[ALGORITHM]).claims
        except (JoseError, ValueError):
            return None
        holder, expires_s = claims.get("sub"), claims.get("exp")
        is_ours = claims.get("iss") == _ISSUER and isinstance(holder, str)
        if not is_ours or not isinstance(expires_s, int):
            return None
        return _Claims(str(holder), expires_s * _SECOND_US, key.id)

    def _key_named(self, key_id: str) -> SigningKey | None:
        """Finds a signing key by its id. Rereads the list on a miss, since another server may have
        just created the key."""
        for fresh in (False, True):
            found = [key for key in self._signing_keys(reread=fresh) if key.id == key_id]
            if found:
                return found[0]
        return None

    def _signing_key(self, now_us: int) -> SigningKey:
        newest = next(iter(self._signing_keys()), None)
        if newest is not None and newest.signs_at(now_us):
            return newest
        signing_keys.rotate(self._database, self._sealing, now_us)
        self._keys = (0, [])
        return self._signing_keys()[0]

    def _signing_keys(self, *, reread: bool = False) -> list[SigningKey]:
        now_us = self._clock.now_us()
        read_us, keys = self._keys
        age_us = now_us - read_us
        if not 0 <= age_us < (TOKEN_STALE_US // 10 if reread else SIGNING_KEY_STALE_US):
            keys = signing_keys.load(self._database, self._sealing)
            self._keys = (now_us, keys)
        return keys

    def _cache(self, key: str, principal: Principal | None, now_us: int) -> None:
        with self._lock:
            self._holders[key] = (now_us, principal)
            self._holders.move_to_end(key)
            if len(self._holders) > ACCESS_TOKENS_CACHED_MAX:
                self._holders.popitem(last=False)

    def _cached_principal(self, key: str) -> tuple[bool, Principal | None]:
        """Returns (is a fresh entry cached, its principal)."""
        with self._lock:
            read_us, principal = self._holders.get(key, (0, None))
        is_fresh = 0 <= self._clock.now_us() - read_us < TOKEN_STALE_US
        return (True, principal) if is_fresh else (False, None)

    def _note_use(self, app_id: str, now_us: int) -> None:
        if now_us - self._noted.get(app_id, 0) >= TOKEN_USE_NOTED_US:
            self._noted[app_id] = now_us
            cloud_apps.note_use(self._database, app_id, now_us)


def _oauth_app(connection: Connection, app_id: str, secret: str) -> cloud_apps.CloudApp | None:
    app = cloud_apps.with_secret(connection, app_id, secret)
    return app if app is not None and app.kind == "oauth" else None


def _secret_key(app_id: str, secret: str) -> str:
    return f"secret {_digest(f'{app_id} {secret}').hex()}"


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
