"""Apps of the identity platform and native keys: callers of the cloud side that are not users.

An app has an id and a secret of 160 bits, of which the server stores only a hash. An app exchanges
them for access tokens (`access_tokens.py`) or sends them with each request. A native key can only
do the latter.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import ACCESS_TOKEN_TTL_S, ACCESS_TOKEN_TTL_S_MAX, USER_DETAIL_CHARS_MAX, Limit
from vedette.model.principal import Principal
from vedette.state.accounts.cloud_roles import CloudRole, roles_of
from vedette.state.accounts.tokens import Issued
from vedette.state.db.database import Database
from vedette.state.db.schema_cloud import CLOUD_APP, CLOUD_APP_ROLE, CLOUD_ROLE
from vedette.state.policy.groups import checked_name
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import CLOUD_APPS

ACCESS_TOKEN_TTL_S_MIN: Limit[int] = 60
"""Minimum lifetime (s) that an app may choose for its tokens. Clients fetch a new token on 401, not
in advance."""


AppKind = Literal["oauth", "key"]
"""`oauth`: an app of the identity platform. `key`: a native key, which gets no access tokens."""

ORG_ROLES = ("member", "owner")


@dataclass(frozen=True, slots=True)
class CloudApp:
    """A stored app or key."""

    id: str
    kind: AppKind
    name: str
    description: str
    org_role: str
    token_ttl_s: int
    secret_number: int
    is_enabled: bool
    created_us: int
    last_used_us: int
    roles: tuple[CloudRole, ...]

    def principal(self) -> Principal:
        """Returns the app as a caller: each permission with its sensor groups; None for all
        groups."""
        grants: dict[str, frozenset[int] | None] = {}
        for role in self.roles:
            for name in role.permissions:
                before = grants.get(name, frozenset())
                if before is None or role.groups is None:
                    grants[name] = None
                else:
                    grants[name] = before | frozenset(role.groups)
        return Principal("app", self.name, self.id, grants=tuple(grants.items()))


@dataclass(frozen=True, slots=True)
class AppChange:
    """Values to set; None leaves a value unchanged."""

    name: str | None = None
    description: str | None = None
    org_role: str | None = None
    token_ttl_s: int | None = None
    is_enabled: bool | None = None
    roles: Sequence[int] | None = None
    """Role ids, which replace all roles of the app."""


def add(database: Database, kind: AppKind, new: AppChange, now_us: int) -> tuple[CloudApp, Issued]:
    """Creates an app and returns it with its secret, which cannot be read later. Raises
    BadRequestError; ConflictError for a name that is taken."""
    issued = Issued(secrets.token_hex(16 if kind == "oauth" else 6), secrets.token_hex(20))
    values = {
        "description": "",
        "org_role": ORG_ROLES[0],
        "token_ttl_s": ACCESS_TOKEN_TTL_S,
        "enabled": True,
        **_values(new),
        "name": checked_name(new.name or ""),
        "id": issued.id,
        "kind": kind,
        "secret_sha256": digest_of(issued.secret),
        "secret_number": 1,
        "created_us": now_us,
    }
    with database.writing() as connection:
        check_room(connection, CLOUD_APPS)
        _check_name(connection, new.name or "", "")
        connection.execute(insert(CLOUD_APP).values(values))
        _set_roles(connection, issued.id, new.roles or ())
        return found(connection, issued.id), issued


def change(database: Database, app_id: str, new: AppChange) -> CloudApp:
    """Changes an app. Takes effect within a second, also for issued tokens. Raises NotFoundError,
    BadRequestError, ConflictError."""
    with database.writing() as connection:
        found(connection, app_id)
        if new.name is not None:
            checked_name(new.name)
            _check_name(connection, new.name, app_id)
        if values := _values(new):
            connection.execute(update(CLOUD_APP).where(CLOUD_APP.c.id == app_id).values(values))
        if new.roles is not None:
            _set_roles(connection, app_id, new.roles)
        return found(connection, app_id)


def new_secret(database: Database, app_id: str) -> Issued:
    """Replaces the secret. The old secret and all tokens issued for it become invalid within a
    second. Raises NotFoundError."""
    issued = Issued(app_id, secrets.token_hex(20))
    with database.writing() as connection:
        found(connection, app_id)
        connection.execute(
            update(CLOUD_APP)
            .where(CLOUD_APP.c.id == app_id)
            .values(
                secret_sha256=digest_of(issued.secret), secret_number=CLOUD_APP.c.secret_number + 1
            )
        )
    return issued


def remove(database: Database, app_id: str) -> None:
    """Deletes an app and its role assignments. Raises NotFoundError."""
    with database.writing() as connection:
        found(connection, app_id)
        connection.execute(delete(CLOUD_APP_ROLE).where(CLOUD_APP_ROLE.c.app_id == app_id))
        connection.execute(delete(CLOUD_APP).where(CLOUD_APP.c.id == app_id))


def all_apps(database: Database) -> list[CloudApp]:
    """Returns all apps and keys, sorted by name."""
    with database.reading() as connection:
        ids = connection.scalars(select(CLOUD_APP.c.id).order_by(CLOUD_APP.c.name)).all()
        return [found(connection, one) for one in ids]


def get(database: Database, app_id: str) -> CloudApp:
    """Returns the app with this id. Raises NotFoundError."""
    with database.reading() as connection:
        return found(connection, app_id)


def named(database: Database, name: str) -> CloudApp:
    """Returns the app with this name or id. Raises NotFoundError."""
    with database.reading() as connection:
        query = select(CLOUD_APP.c.id).where((CLOUD_APP.c.name == name) | (CLOUD_APP.c.id == name))
        return found(connection, connection.scalar(query) or name)


def found(connection: Connection, app_id: str) -> CloudApp:
    """Returns the app with this id, within the caller's transaction. Raises NotFoundError."""
    row = connection.execute(select(CLOUD_APP).where(CLOUD_APP.c.id == app_id)).mappings().first()
    if row is None:
        raise NotFoundError(f"app {app_id[:80]!r} not found")
    return _app(connection, row)


def with_secret(connection: Connection, app_id: str, secret: str) -> CloudApp | None:
    """Returns the enabled app with this id and secret, or None."""
    row = (
        connection.execute(
            select(CLOUD_APP).where(CLOUD_APP.c.id == app_id, CLOUD_APP.c.enabled.is_(True))
        )
        .mappings()
        .first()
    )
    expected = digest_of("") if row is None else row["secret_sha256"]
    is_right = secrets.compare_digest(expected, digest_of(secret))
    return _app(connection, row) if is_right and row is not None else None


def note_use(database: Database, app_id: str, now_us: int) -> None:
    with database.writing() as connection:
        connection.execute(
            update(CLOUD_APP).where(CLOUD_APP.c.id == app_id).values(last_used_us=now_us)
        )


def digest_of(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _app(connection: Connection, row: Any) -> CloudApp:
    return CloudApp(
        row["id"],
        row["kind"],
        row["name"],
        row["description"],
        row["org_role"],
        row["token_ttl_s"],
        row["secret_number"],
        row["enabled"],
        row["created_us"],
        row["last_used_us"],
        tuple(roles_of(connection, row["id"])),
    )


def _values(new: AppChange) -> dict[str, object]:
    values: dict[str, object] = {}
    if new.name is not None:
        values["name"] = new.name
    if new.description is not None:
        values["description"] = new.description[:USER_DETAIL_CHARS_MAX]
    if new.org_role is not None:
        if new.org_role not in ORG_ROLES:
            raise BadRequestError(f"org_role: must be one of {', '.join(ORG_ROLES)}")
        values["org_role"] = new.org_role
    if new.token_ttl_s is not None:
        if not ACCESS_TOKEN_TTL_S_MIN <= new.token_ttl_s <= ACCESS_TOKEN_TTL_S_MAX:
            raise BadRequestError(
                f"token_ttl_s: must be from {ACCESS_TOKEN_TTL_S_MIN} to {ACCESS_TOKEN_TTL_S_MAX}"
            )
        values["token_ttl_s"] = new.token_ttl_s
    if new.is_enabled is not None:
        values["enabled"] = new.is_enabled
    return values


def _check_name(connection: Connection, name: str, app_id: str) -> None:
    taken = select(CLOUD_APP.c.id).where(CLOUD_APP.c.name == name, CLOUD_APP.c.id != app_id)
    if connection.scalar(taken) is not None:
        raise ConflictError(f"app {name!r} already exists")


def _set_roles(connection: Connection, app_id: str, role_ids: Sequence[int]) -> None:
    wanted = sorted(set(role_ids))
    query = select(CLOUD_ROLE.c.id).where(CLOUD_ROLE.c.id.in_(wanted))
    known = set(connection.scalars(query))
    if missing := [one for one in wanted if one not in known]:
        raise BadRequestError(f"roles: unknown role {missing[0]}")
    connection.execute(delete(CLOUD_APP_ROLE).where(CLOUD_APP_ROLE.c.app_id == app_id))
    if wanted:
        rows = [{"app_id": app_id, "role_id": one} for one in wanted]
        connection.execute(insert(CLOUD_APP_ROLE), rows)
