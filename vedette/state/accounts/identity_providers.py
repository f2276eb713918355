"""Identity providers for sign-in (OpenID Connect), as administrators configure them.

An identity is an issuer and a subject. A provider's issuer never changes, so a subject of another
issuer is never mistaken for a subject of this one. The client secret is sealed (`sealing.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from vedette.errors import BadRequestError, ConflictError, NotFoundError
from vedette.limits import STATE_NAME_CHARS_MAX, Limit
from vedette.state.accounts.identities import end_sessions
from vedette.state.db.database import Database
from vedette.state.db.schema import TEAM
from vedette.state.db.schema_console import IDENTITY_PROVIDER, IDENTITY_PROVIDER_TEAM
from vedette.state.db.sealing import Sealing
from vedette.state.policy.groups import checked_name
from vedette.state.shares.quota import check_room
from vedette.state.shares.quota_list import IDENTITY_PROVIDERS

IDENTITY_PROVIDER_TEAMS_MAX: Limit[int] = 500
"""Pairs of a claim value and a team, per provider."""

ISSUER_CHARS_MAX: Limit[int] = 500
"""Characters of an issuer, a URL that must equal the issuer of every token."""

CLAIM_NAME_CHARS_MAX: Limit[int] = 100
"""Characters of a claim's name."""

PROVIDER_SECRET_CHARS_MAX: Limit[int] = 2_000
"""Characters of the client secret of this server at a provider."""

PROVIDER_NAME_CHARS_MAX: Limit[int] = 40
"""Characters of a provider's name, which is part of URLs."""


EVERYBODY: Final = "*"
"""In place of a claim value: adds every user that the provider creates to the team."""

DEFAULT_SCOPE: Final = "openid profile email"

_PURPOSE: Final = "secret of identity provider "
_NAME_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")

TeamPairs = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider. `teams` are pairs of a value of `team_claim` and a team id."""

    id: int
    name: str
    label: str
    issuer: str
    client_id: str
    sealed_secret: str
    scope: str
    creates_users: bool
    username_claim: str
    team_claim: str
    is_enabled: bool
    created_us: int
    teams: TeamPairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Values to set; None leaves a value unchanged, or at its default."""

    label: str | None = None
    client_id: str | None = None
    secret: str | None = None
    """The client secret, as issued by the provider; "" for none."""
    scope: str | None = None
    creates_users: bool | None = None
    """Whether a sign-in without a linked identity creates a user, in the teams of its claims."""
    username_claim: str | None = None
    team_claim: str | None = None
    teams: TeamPairs | None = None
    is_enabled: bool | None = None


def add(
    database: Database, sealing: Sealing, name: str, issuer: str, new: Change, now_us: int
) -> Provider:
    """Adds a provider. Raises BadRequestError for invalid values, ConflictError for a name or
    issuer that is taken.

    The caller checks that the issuer is a permitted address (`oidc/provider_url.py`).
    """
    if not set(name) <= _NAME_CHARACTERS or not 0 < len(name) <= PROVIDER_NAME_CHARS_MAX:
        raise BadRequestError(
            f"name: 1 to {PROVIDER_NAME_CHARS_MAX} of a to z, 0 to 9 and -(used in URLs)"
        )
    if not new.client_id:
        raise BadRequestError("client_id: is required")
    row: dict[str, Any] = {
        "name": name,
        "issuer": _plain("issuer", issuer, ISSUER_CHARS_MAX),
        "label": name,
        "scope": DEFAULT_SCOPE,
        "creates_users": False,
        "username_claim": "preferred_username",
        "enabled": True,
        "created_us": now_us,
        **_values(new),
    }
    with database.writing() as connection:
        _check_new(connection, name, issuer)
        provider_id = connection.execute(
            insert(IDENTITY_PROVIDER).values(row).returning(IDENTITY_PROVIDER.c.id)
        ).scalar_one()
        _set_secret(connection, sealing, provider_id, new.secret or None)
        _set_teams(connection, provider_id, new.teams or ())
        return _checked(_one(connection, provider_id))


def change(
    database: Database, sealing: Sealing, provider_id: int, new: Change, now_us: int
) -> Provider:
    """Changes a provider. Disabling it ends the sessions that began with it. Raises NotFoundError,
    BadRequestError."""
    values = _values(new)
    with database.writing() as connection:
        _one(connection, provider_id)
        if values:
            connection.execute(
                update(IDENTITY_PROVIDER)
                .where(IDENTITY_PROVIDER.c.id == provider_id)
                .values(values)
            )
        _set_secret(connection, sealing, provider_id, new.secret)
        if new.teams is not None:
            _set_teams(connection, provider_id, new.teams)
        if new.is_enabled is False:
            end_sessions(connection, now_us, provider_id=provider_id)
        return _checked(_one(connection, provider_id))


def remove(database: Database, provider_id: int, now_us: int) -> None:
    """Deletes a provider with its identities and their sessions; users stay. Raises
    NotFoundError."""
    with database.writing() as connection:
        _one(connection, provider_id)
        end_sessions(connection, now_us, provider_id=provider_id)
        connection.execute(delete(IDENTITY_PROVIDER).where(IDENTITY_PROVIDER.c.id == provider_id))


def all_providers(database: Database) -> list[Provider]:
    """Returns all providers, sorted by name."""
    with database.reading() as connection:
        rows = connection.execute(select(IDENTITY_PROVIDER).order_by(IDENTITY_PROVIDER.c.name))
        return [_provider(connection, row) for row in rows.mappings().all()]


def get(database: Database, provider_id: int) -> Provider:
    """Returns the provider with this id. Raises NotFoundError."""
    with database.reading() as connection:
        return _one(connection, provider_id)


def named(database: Database, name: str) -> Provider:
    """Returns the provider with this name. Raises NotFoundError."""
    query = select(IDENTITY_PROVIDER).where(IDENTITY_PROVIDER.c.name == name)
    with database.reading() as connection:
        row = connection.execute(query).mappings().first()
        if row is None:
            raise NotFoundError(f"identity provider {name[:60]!r} not found")
        return _provider(connection, row)


def secret_of(sealing: Sealing, provider: Provider) -> str:
    """Returns the client secret; "" for none. Raises UnavailableError if it was sealed with another
    key file."""
    return sealing.open(provider.sealed_secret, f"{_PURPOSE}{provider.id}")


def _values(new: Change) -> dict[str, object]:
    """Validates the given values and maps them to columns."""
    given: Mapping[str, object] = {
        "label": None if new.label is None else checked_name(new.label),
        "client_id": _given("client_id", new.client_id, STATE_NAME_CHARS_MAX),
        "scope": _given("scope", new.scope, STATE_NAME_CHARS_MAX, within=" "),
        "creates_users": new.creates_users,
        "username_claim": _given("username_claim", new.username_claim, CLAIM_NAME_CHARS_MAX),
        "team_claim": _given("team_claim", new.team_claim, CLAIM_NAME_CHARS_MAX),
        "enabled": new.is_enabled,
    }
    values = {name: value for name, value in given.items() if value is not None}
    if "scope" in values and "openid" not in str(values["scope"]).split(" "):
        raise BadRequestError("scope: must include openid")
    if values.get("client_id") == "":
        raise BadRequestError("client_id: is required")
    return values


def _given(name: str, text: str | None, most: int, *, within: str = "") -> str | None:
    return None if text is None else _plain(name, text, most, within)


def _plain(name: str, text: str, most: int, within: str = "") -> str:
    if len(text) > most or any(not "!" <= one <= "~" and one not in within for one in text):
        raise BadRequestError(f"{name}: at most {most} printable ASCII characters without spaces")
    return text


def _checked(provider: Provider) -> Provider:
    """Rejects a provider that creates users without teams: they would see nothing, and nobody would
    notice."""
    if provider.creates_users and not provider.teams:
        raise BadRequestError("creates_users: requires teams")
    if not provider.team_claim and any(value != EVERYBODY for value, _ in provider.teams):
        raise BadRequestError("team_claim: is required to map its values to teams")
    return provider


def _check_new(connection: Connection, name: str, issuer: str) -> None:
    known = connection.execute(select(IDENTITY_PROVIDER.c.name, IDENTITY_PROVIDER.c.issuer)).all()
    check_room(connection, IDENTITY_PROVIDERS)
    for other in known:
        if other.name == name:
            raise ConflictError(f"identity provider {name!r} already exists")
        if other.issuer == issuer:
            raise ConflictError(f"identity provider {other.name!r} has this issuer already")


def _set_secret(
    connection: Connection, sealing: Sealing, provider_id: int, secret: str | None
) -> None:
    if secret is None:
        return
    _plain("client_secret", secret, PROVIDER_SECRET_CHARS_MAX)
    connection.execute(
        update(IDENTITY_PROVIDER)
        .where(IDENTITY_PROVIDER.c.id == provider_id)
        .values(secret=sealing.seal(secret, f"{_PURPOSE}{provider_id}"))
    )


def _set_teams(connection: Connection, provider_id: int, pairs: TeamPairs) -> None:
    if len(pairs) > IDENTITY_PROVIDER_TEAMS_MAX:
        raise BadRequestError(f"teams: at most {IDENTITY_PROVIDER_TEAMS_MAX}")
    wanted = {team_id for _, team_id in pairs}
    known = set(connection.scalars(select(TEAM.c.id).where(TEAM.c.id.in_(wanted))))
    if unknown := wanted - known:
        raise BadRequestError(f"teams: unknown team {min(unknown)}")
    own = IDENTITY_PROVIDER_TEAM.c.provider_id == provider_id
    connection.execute(delete(IDENTITY_PROVIDER_TEAM).where(own))
    for value, team_id in sorted(set(pairs)):
        row = {"provider_id": provider_id, "value": checked_name(value), "team_id": team_id}
        connection.execute(insert(IDENTITY_PROVIDER_TEAM).values(row))


def _one(connection: Connection, provider_id: int) -> Provider:
    query = select(IDENTITY_PROVIDER).where(IDENTITY_PROVIDER.c.id == provider_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"identity provider {provider_id} not found")
    return _provider(connection, row)


def _provider(connection: Connection, row: RowMapping) -> Provider:
    teams = connection.execute(
        select(IDENTITY_PROVIDER_TEAM.c.value, IDENTITY_PROVIDER_TEAM.c.team_id)
        .where(IDENTITY_PROVIDER_TEAM.c.provider_id == row["id"])
        .order_by(IDENTITY_PROVIDER_TEAM.c.value, IDENTITY_PROVIDER_TEAM.c.team_id)
    ).all()
    return Provider(
        id=row["id"],
        name=row["name"],
        label=row["label"],
        issuer=row["issuer"],
        client_id=row["client_id"],
        sealed_secret=row["secret"],
        scope=row["scope"],
        creates_users=row["creates_users"],
        username_claim=row["username_claim"],
        team_claim=row["team_claim"],
        is_enabled=row["enabled"],
        created_us=row["created_us"],
        teams=tuple((one.value, one.team_id) for one in teams),
    )
