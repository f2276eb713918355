"""Roles and apps of the cloud side, and the keys that sign their tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cloud_role",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        _text("description"),
        sa.Column("permissions", sa.Text(), nullable=False),
        sa.Column("all_groups", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_cloud_role"),
        sa.UniqueConstraint("name", name="uq_cloud_role_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "cloud_role_group",
        sa.Column("role_id", sa.Integer(), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["role_id"], ["cloud_role.id"], "fk_cloud_role_group_role_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["group_id"], ["sensor_group.id"], "fk_cloud_role_group_group_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("role_id", "group_id", name="pk_cloud_role_group"),
    )
    op.create_table(
        "cloud_app",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        *map(_text, ("description", "org_role")),
        _number("token_ttl_s"),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        _number("secret_number"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        *map(_number, ("created_us", "last_used_us")),
        sa.PrimaryKeyConstraint("id", name="pk_cloud_app"),
        sa.UniqueConstraint("name", name="uq_cloud_app_name"),
    )
    op.create_table(
        "cloud_app_role",
        sa.Column("app_id", sa.Text(), nullable=False),
        sa.Column("role_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["app_id"], ["cloud_app.id"], "fk_cloud_app_role_app_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["role_id"], ["cloud_role.id"], "fk_cloud_app_role_role_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("app_id", "role_id", name="pk_cloud_app_role"),
    )
    op.create_table(
        "signing_key",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("public", sa.Text(), nullable=False),
        _number("created_us"),
        sa.PrimaryKeyConstraint("id", name="pk_signing_key"),
    )


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
