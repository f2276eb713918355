"""Tables of the cloud side: roles, apps and keys, signing keys.

Migrations (`migrations/`) create them, like those of `schema.py`.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, Table, Text

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


CLOUD_ROLE = Table(
    "cloud_role",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    _text("description"),
    Column("permissions", Text, nullable=False),  # JSON list of names
    Column("all_groups", Boolean, nullable=False),  # else the groups of cloud_role_group
    sqlite_autoincrement=True,
    info=audited("cloud role", "name"),
)

CLOUD_ROLE_GROUP = Table(
    "cloud_role_group",
    METADATA,
    Column("role_id", ForeignKey("cloud_role.id", ondelete="CASCADE"), primary_key=True),
    Column("group_id", ForeignKey("sensor_group.id", ondelete="CASCADE"), primary_key=True),
    info=audited("cloud role group", "role_id", "group_id"),
)

CLOUD_APP = Table(
    "cloud_app",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # oauth or key
    Column("name", Text, nullable=False, unique=True),
    _text("description"),
    _text("org_role"),  # member or owner: displayed, without effect on permissions
    _number("token_ttl_s"),
    Column("secret_sha256", LargeBinary, nullable=False),
    _number("secret_number"),  # incremented with every new secret; invalidates earlier tokens
    Column("enabled", Boolean, nullable=False),
    _number("created_us"),
    _number("last_used_us"),  # updated with a delay
    info=audited(
        "cloud app",
        "name",
        only=(
            "id",
            "kind",
            "name",
            "description",
            "org_role",
            "token_ttl_s",
            "secret_number",
            "enabled",
        ),
        secrets=("secret_sha256",),
    ),
)

CLOUD_APP_ROLE = Table(
    "cloud_app_role",
    METADATA,
    Column("app_id", ForeignKey("cloud_app.id", ondelete="CASCADE"), primary_key=True),
    Column("role_id", ForeignKey("cloud_role.id", ondelete="CASCADE"), primary_key=True),
    info=audited("cloud app role", "app_id", "role_id"),
)

SIGNING_KEY = Table(
    "signing_key",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("sealed", Text, nullable=False),  # JWK of the private key (`sealing.py`)
    Column("public", Text, nullable=False),  # JWK
    _number("created_us"),
    info=audited("signing key", "id", only=("id", "created_us")),
)
