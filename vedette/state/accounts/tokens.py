"""API tokens, ingest tokens, sessions and sign-in links.

A secret is 40 hex digits, 160 bits from the system's random generator. The server stores only its
SHA-256: a fast hash suffices for a secret that cannot be guessed, and every request computes it.
`api` tokens act as a user; a read-only token may change nothing. `ingest` tokens may only send
telemetry into one sensor group. The HTTP layer reads tokens from requests
(docs/telemetry-formats.md#protocols: Basic `id:secret`, `ApiKey base64(id:secret)`, `Bearer
secret`; docs/api-authentication.md#credentials: X-Auth-Token).

Authentication reads the database at most once a second per token. A revocation by another program
takes effect within that second, a revocation by this server at once.
"""

import secrets
import string
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Lock
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from vedette import limits
from vedette.clock import Clock
from vedette.errors import BadRequestError, NotFoundError
from vedette.limits import TOKEN_USE_NOTED_US, Limit
from vedette.model.principal import Principal
from vedette.state.accounts.teams import role_everywhere, roles_of
from vedette.state.db.database import Database
from vedette.state.db.schema import GROUP, TOKEN, USER
from vedette.state.db.schema_console import IDENTITY, IDENTITY_PROVIDER
from vedette.state.policy.groups import checked_name
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import API_TOKENS

TOKENS_CACHED_MAX: Limit[int] = 10_000
"""Cached secrets, valid or not. The bound keeps guessing from filling the memory."""

SESSIONS_PER_USER_MAX: Limit[int] = 20
"""Concurrent sessions of one user; a further session ends the oldest."""

SESSION_KEPT_US: Limit[int] = 7 * 24 * 3600 * 1_000_000
"""Time (us) for which ended sessions stay listed. The audit log keeps them permanently."""


TokenKind = Literal["api", "ingest", "session", "link"]
"""`session`: a signed-in browser. It is accepted only from its cookie and expires without use
(`SESSION_IDLE_S`). `link`: begins one session (`sign_in.py`) and grants nothing else."""


_ID_CHARACTERS = string.ascii_uppercase + string.digits


@dataclass(frozen=True, slots=True)
class NewToken:
    """Data of a new token: `user_id` for `api`, `session` and `link`, `group_id` for `ingest`."""

    kind: TokenKind
    name: str = ""
    user_id: int | None = None
    group_id: int | None = None
    expires_us: int | None = None
    """Epoch microseconds; None: `TOKEN_LIFETIME_US` from now; 0: never."""
    is_read_only: bool = False
    """Whether an `api` token may only read."""
    identity_id: int = 0
    """Identity with which a `session` began; unlinking the identity ends the session. 0 for a
    password."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token. The server stores only a hash of the secret."""

    id: str
    secret: str


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token; `holder` is the user name, or the name of the sensor group."""

    id: str
    kind: TokenKind
    name: str
    holder: str
    created_us: int
    expires_us: int
    revoked_us: int
    last_used_us: int
    is_read_only: bool
    last_address: str
    """Address of the last use, with the same delay as `last_used_us`; "" if unknown."""

    def is_good(self, now_us: int) -> bool:
        return not self.revoked_us and (not self.expires_us or now_us < self.expires_us)


@dataclass(frozen=True, slots=True)
class _Found:
    """Cache entry of a secret."""

    principal: Principal | None
    expires_us: int
    read_us: int


def issue(database: Database, new: NewToken, now_us: int) -> Issued:
    """Issues a token. Raises BadRequestError for an unknown holder or a past expiry, ConflictError
    above the quota of tokens per user (`API_TOKENS`)."""
    with database.writing() as connection:
        return insert_checked(connection, new, now_us)


def insert_checked(connection: Connection, new: NewToken, now_us: int) -> Issued:
    """Adds a token within a transaction. Raises the errors of `issue`."""
    if new.name:
        checked_name(new.name)
    lifetime_us = limits.TOKEN_LIFETIME_US
    expires_us = now_us + lifetime_us if new.expires_us is None else new.expires_us
    if expires_us and expires_us <= now_us:
        raise BadRequestError("a token must expire in the future")
    table, holder = (GROUP, new.group_id) if new.kind == "ingest" else (USER, new.user_id)
    if connection.scalar(select(table.c.id).where(table.c.id == holder)) is None:
        raise BadRequestError(f"unknown holder of an {new.kind} token")
    if new.kind == "api":
        is_alive = (TOKEN.c.expires_us == 0) | (TOKEN.c.expires_us > now_us)
        check_room(connection, API_TOKENS, new.user_id, is_alive)
    issued = Issued(
        "".join(secrets.choice(_ID_CHARACTERS) for _ in range(10)), secrets.token_hex(20)
    )
    row = {
        "id": issued.id,
        "kind": new.kind,
        "name": new.name,
        "user_id": None if new.kind == "ingest" else new.user_id,
        "group_id": new.group_id if new.kind == "ingest" else None,
        "secret_sha256": _digest(issued.secret),
        "created_us": now_us,
        "expires_us": expires_us,
        "read_only": new.kind == "api" and new.is_read_only,
        "identity_id": new.identity_id,
    }
    connection.execute(insert(TOKEN).values(row))
    return issued


def all_tokens(database: Database, username: str | None = None) -> list[Token]:
    """Returns all tokens, or the tokens of one user, in order of issue."""
    query = (
        select(TOKEN, USER.c.username, GROUP.c.name.label("group_name"))
        .outerjoin(USER, USER.c.id == TOKEN.c.user_id)
        .outerjoin(GROUP, GROUP.c.id == TOKEN.c.group_id)
        .order_by(TOKEN.c.created_us, TOKEN.c.id)
    )
    if username is not None:
        query = query.where(USER.c.username == username.lower())
    with database.reading() as connection:
        return [_token(row) for row in connection.execute(query).mappings()]


def begin_session(
    database: Database, user_id: int, name: str, now_us: int, identity_id: int = 0
) -> Issued:
    """Begins a browser session. Ends the user's oldest sessions above `SESSIONS_PER_USER_MAX`."""
    with database.writing() as connection:
        return begin_session_within(connection, user_id, name, now_us, identity_id)


def begin_session_within(
    connection: Connection, user_id: int, name: str, now_us: int, identity_id: int = 0
) -> Issued:
    """Like `begin_session`, within a transaction."""
    new = NewToken(
        "session",
        name,
        user_id=user_id,
        expires_us=now_us + limits.SESSION_S_MAX * 1_000_000,
        identity_id=identity_id,
    )
    issued = insert_checked(connection, new, now_us)
    live = (
        select(TOKEN.c.id)
        .where(TOKEN.c.user_id == user_id, TOKEN.c.kind == "session", TOKEN.c.revoked_us == 0)
        .order_by(TOKEN.c.created_us.desc(), TOKEN.c.id != issued.id)
        .offset(SESSIONS_PER_USER_MAX)
    )
    for token_id in connection.scalars(live).all():
        connection.execute(update(TOKEN).where(TOKEN.c.id == token_id).values(revoked_us=now_us))
    passing = TOKEN.c.kind.in_(("session", "link"))
    # No clock guard: a clock that runs ahead only removes sign-ins, which are over anyway.
    ended = TOKEN.c.expires_us < now_us - SESSION_KEPT_US
    connection.execute(delete(TOKEN).where(passing, ended))
    return issued


def find_link(connection: Connection, secret: str, now_us: int) -> tuple[str, int, str] | None:
    """Returns (token id, user id, user name) of a valid link of an enabled user, or None."""
    row = connection.execute(
        select(TOKEN.c.id, USER.c.id.label("user_id"), USER.c.username)
        .join(USER, USER.c.id == TOKEN.c.user_id)
        .where(TOKEN.c.secret_sha256 == _digest(secret), TOKEN.c.kind == "link")
        .where(TOKEN.c.revoked_us == 0, TOKEN.c.expires_us > now_us, USER.c.enabled.is_(True))
    ).first()
    return None if row is None else (row.id, row.user_id, row.username)


def expiry_of(database: Database, token_id: str) -> int:
    """Returns the time (epoch us) at which a token expires; 0 for never."""
    with database.reading() as connection:
        wanted = select(TOKEN.c.expires_us).where(TOKEN.c.id == token_id)
        return connection.scalar(wanted) or 0


def without_expiry(database: Database, now_us: int) -> int:
    """Returns the number of valid tokens that never expire: tokens of older versions, and tokens
    issued that way."""
    return sum(one.is_good(now_us) and not one.expires_us for one in all_tokens(database))


def revoke(database: Database, token_id: str, now_us: int) -> None:
    """Revokes a token, which stays listed. Idempotent. Raises NotFoundError.

    A running server calls `Tokens.revoke`, which also clears its cache.
    """
    with database.writing() as connection:
        if connection.scalar(select(TOKEN.c.id).where(TOKEN.c.id == token_id)) is None:
            raise NotFoundError(f"token {token_id!r} not found")
        connection.execute(
            update(TOKEN)
            .where(TOKEN.c.id == token_id, TOKEN.c.revoked_us == 0)
            .values(revoked_us=now_us)
        )


class Tokens:
    """Authenticates requests, with a cache whose entries live for a second."""

    def __init__(
        self, database: Database, clock: Clock, check_clock: Callable[[], None] = lambda: None
    ) -> None:
        """`check_clock` raises UnavailableError while the clock is in doubt."""
        self._database = database
        self._clock = clock
        self._check_clock = check_clock
        self._found: OrderedDict[bytes, _Found] = OrderedDict()
        self._used: dict[str, tuple[int, str]] = {}
        self._lock = Lock()

    def authenticate(
        self, secret: str, token_id: str | None = None, address: str = ""
    ) -> Principal | None:
        """Returns the principal of a secret; None if the secret is unknown, revoked or expired,
        belongs to a disabled user, or does not match the `token_id` of the request. Records
        `address` as the address of the last use.

        Raises UnavailableError instead of None if the token has expired while the clock is in
        doubt: shippers drop telemetry that is answered with 401.
        """
        digest, now_us = _digest(secret), self._clock.now_us()
        found = self._fresh(digest, now_us) or self._read(digest, now_us, address)
        principal = _good(found, token_id, now_us)
        if principal is None and _good(found, token_id, 0) is not None:
            self._check_clock()
        return principal

    def cached(self, secret: str, token_id: str | None = None) -> Principal | None:
        """Like `authenticate`, from the cache alone; None on a cache miss or an invalid token."""
        now_us = self._clock.now_us()
        found = self._fresh(_digest(secret), now_us)
        return None if found is None else _good(found, token_id, now_us)

    def holder(self, token_id: str) -> Principal | None:
        """Returns the user of a valid API token with this id; serves access tokens that were issued
        for the API token."""
        now_us = self._clock.now_us()
        with self._database.reading() as connection:
            row = _lookup(connection, (TOKEN.c.id == token_id) & (TOKEN.c.kind == "api"))
            if row is None or (row["expires_us"] and now_us >= row["expires_us"]):
                return None
            return _principal(connection, row)

    def _fresh(self, digest: bytes, now_us: int) -> _Found | None:
        with self._lock:
            found = self._found.get(digest)
        is_fresh = found is not None and 0 <= now_us - found.read_us < limits.TOKEN_STALE_US
        return found if is_fresh else None

    def revoke(self, token_id: str) -> None:
        """Revokes a token at once. Raises NotFoundError."""
        revoke(self._database, token_id, self._clock.now_us())
        self.clear_cache()

    def clear_cache(self) -> None:
        """Call after changes of users or teams."""
        with self._lock:
            self._found.clear()

    def flush(self) -> None:
        """Writes the times of last use. Call every few seconds and at shutdown."""
        with self._lock:
            used, self._used = self._used, {}
        if not used:
            return
        with self._database.writing() as connection:
            for token_id, (used_us, address) in used.items():
                connection.execute(
                    update(TOKEN)
                    .where(TOKEN.c.id == token_id, TOKEN.c.last_used_us < used_us)
                    .values(
                        {"last_used_us": used_us} | ({"last_address": address} if address else {})
                    )
                )

    def _read(self, digest: bytes, now_us: int, address: str) -> _Found:
        with self._database.reading() as connection:
            row = _lookup(connection, TOKEN.c.secret_sha256 == digest)
            is_good = row is not None and not _is_idle(row, now_us)
            principal = _principal(connection, row) if is_good else None
        found = _Found(principal, 0 if row is None else row["expires_us"], now_us)
        with self._lock:
            self._found[digest] = found
            self._found.move_to_end(digest)
            if len(self._found) > TOKENS_CACHED_MAX:
                self._found.popitem(last=False)
            if row is not None and principal and _is_news(row, now_us, address):
                self._used[row["id"]] = now_us, address
        return found


def _is_news(row: Any, now_us: int, address: str) -> bool:
    """Whether to record a use of a token."""
    is_due: bool = now_us - row["last_used_us"] >= TOKEN_USE_NOTED_US
    return is_due or bool(address and not row["last_address"])


def _good(found: _Found, token_id: str | None, now_us: int) -> Principal | None:
    principal = found.principal
    if principal is None or (found.expires_us and now_us >= found.expires_us):
        return None
    return principal if token_id is None or token_id == principal.token_id else None


def _lookup(connection: Connection, condition: ColumnElement[bool]) -> Any:
    query = (
        select(TOKEN, USER.c.username, USER.c.global_admin)
        .outerjoin(USER, USER.c.id == TOKEN.c.user_id)
        .where(condition, TOKEN.c.revoked_us == 0, TOKEN.c.kind != "link")
        .where(TOKEN.c.user_id.is_(None) | USER.c.enabled.is_(True))
        .where((TOKEN.c.identity_id == 0) | _is_vouched_for())
    )
    return connection.execute(query).mappings().first()


def _is_vouched_for() -> ColumnElement[bool]:
    """Whether a session's identity is still linked and its provider enabled."""
    known = select(IDENTITY.c.id).join(
        IDENTITY_PROVIDER, IDENTITY_PROVIDER.c.id == IDENTITY.c.provider_id
    )
    is_good = (IDENTITY.c.id == TOKEN.c.identity_id) & IDENTITY_PROVIDER.c.enabled.is_(True)
    return known.where(is_good).exists()


def _is_idle(row: Any, now_us: int) -> bool:
    """Whether a session expired because it was not used."""
    used_us = max(row["last_used_us"], row["created_us"])
    return bool(row["kind"] == "session" and now_us - used_us > limits.SESSION_IDLE_S * 1_000_000)


def _principal(connection: Connection, row: Any) -> Principal:
    if row["kind"] == "ingest":
        return Principal("ingest", row["name"], row["id"], group_id=row["group_id"])
    roles = roles_of(connection, row["user_id"])
    return Principal(
        "user",
        row["username"],
        row["id"],
        is_global_admin=row["global_admin"],
        roles=roles,
        role_everywhere=role_everywhere(connection, roles),
        is_read_only=row["read_only"],
        is_session=row["kind"] == "session",
    )


def _token(row: Any) -> Token:
    return Token(
        id=row["id"],
        kind=row["kind"],
        name=row["name"],
        holder=row["username"] or row["group_name"],
        created_us=row["created_us"],
        expires_us=row["expires_us"],
        revoked_us=row["revoked_us"],
        last_used_us=row["last_used_us"],
        is_read_only=row["read_only"],
        last_address=row["last_address"],
    )


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()
