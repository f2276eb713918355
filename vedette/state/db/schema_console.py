"""Tables of per-user data (preferences, saved searches, permalinks), of isolation orders, and of
identity providers.

Migrations (`migrations/`) create them, like those of `schema.py`.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text

from vedette.record.columns import columns
from vedette.record.objects.kept_view import Permalink, SavedSearch
from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


PREFERENCE = Table(
    "preference",
    METADATA,
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True),
    Column("body", Text, nullable=False),  # JSON
    _number("changed_us"),
)

SAVED_SEARCH = Table(
    "saved_search",
    METADATA,
    *columns(
        SavedSearch,
        Column("id", Integer, primary_key=True),
        Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), nullable=False),
    ),
    Index("ix_saved_search_user_id", "user_id"),
    sqlite_autoincrement=True,
    info=audited("saved search", "id", only=("id", "user_id", "name", "view", "shared")),
)

PERMALINK = Table(
    "permalink",
    METADATA,
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), nullable=False),
    *columns(
        Permalink,
        Column("id", Text, primary_key=True),
        _text("params"),
        _number("made_us"),
        _number("expires_us"),
    ),
    Index("ix_permalink_expires_us", "expires_us"),
    Index("ix_permalink_user_id", "user_id"),
)

ISOLATION = Table(
    "isolation",
    METADATA,
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), primary_key=True),
    _text("reason"),
    _text("username"),
    _number("since_us"),
    _number("expires_us"),  # 0: never
    Index("ix_isolation_expires_us", "expires_us"),
    info=audited("isolation", "sensor_id"),
)

IDENTITY_PROVIDER = Table(
    "identity_provider",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),  # part of URLs
    _text("label"),
    Column("issuer", Text, nullable=False, unique=True),  # never changes: identities refer to it
    Column("client_id", Text, nullable=False),
    _text("secret"),  # sealed; "" for none
    _text("scope"),
    Column("creates_users", Boolean, nullable=False),
    _text("username_claim"),
    _text("team_claim"),
    Column("enabled", Boolean, nullable=False),
    _number("created_us"),
    sqlite_autoincrement=True,
    info=audited("identity provider", "name", secrets=("secret",)),
)

IDENTITY_PROVIDER_TEAM = Table(
    "identity_provider_team",
    METADATA,
    Column("provider_id", ForeignKey("identity_provider.id", ondelete="CASCADE"), primary_key=True),
    Column("value", Text, primary_key=True),  # value of the claim; * for everybody
    Column("team_id", ForeignKey("team.id", ondelete="CASCADE"), primary_key=True),
    info=audited("identity provider team", "provider_id", "value", "team_id"),
)

IDENTITY = Table(
    "identity",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("provider_id", ForeignKey("identity_provider.id", ondelete="CASCADE"), nullable=False),
    Column("subject", Text, nullable=False),
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), nullable=False),
    Column("follows_claims", Boolean, nullable=False),  # the provider created the user
    _number("created_us"),
    _number("last_used_us"),
    Index("uq_identity_provider_id_subject", "provider_id", "subject", unique=True),
    Index("ix_identity_user_id", "user_id"),
    sqlite_autoincrement=True,
    info=audited(
        "identity",
        "provider_id",
        "subject",
        only=("id", "provider_id", "subject", "user_id", "follows_claims"),
    ),
)
