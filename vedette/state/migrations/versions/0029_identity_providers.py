"""Providers of identities, the identities that users sign in with, and the sessions begun so."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "identity_provider",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        _text("label"),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=False),
        _text("secret"),
        _text("scope"),
        sa.Column("creates_users", sa.Boolean(), nullable=False),
        _text("username_claim"),
        _text("team_claim"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        _number("created_us"),
        sa.PrimaryKeyConstraint("id", name="pk_identity_provider"),
        sa.UniqueConstraint("issuer", name="uq_identity_provider_issuer"),
        sa.UniqueConstraint("name", name="uq_identity_provider_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "identity_provider_team",
        sa.Column("provider_id", sa.Integer(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        _reference("identity_provider_team", "provider_id", "identity_provider"),
        _reference("identity_provider_team", "team_id", "team"),
        sa.PrimaryKeyConstraint(
            "provider_id", "value", "team_id", name="pk_identity_provider_team"
        ),
    )
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("provider_id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("follows_claims", sa.Boolean(), nullable=False),
        _number("created_us"),
        _number("last_used_us"),
        _reference("identity", "provider_id", "identity_provider"),
        _reference("identity", "user_id", "user_account"),
        sa.PrimaryKeyConstraint("id", name="pk_identity"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "uq_identity_provider_id_subject", "identity", ["provider_id", "subject"], unique=True
    )
    op.create_index("ix_identity_user_id", "identity", ["user_id"])
    op.add_column("token", _number("identity_id"))


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _reference(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{to}.id"], name=f"fk_{table}_{column}", ondelete="CASCADE"
    )
