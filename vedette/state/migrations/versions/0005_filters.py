"""Ingress filters, bans, options of groups, installer packages."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the tables of what is decided about telemetry and hosts."""
    op.add_column(
        "sensor_group", sa.Column("options", sa.Text(), server_default="{}", nullable=False)
    )
    _filters()
    _bans()
    _installers()


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def _filters() -> None:
    op.create_table(
        "ingress_filter",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        _number("priority"),
        _number("create_us"),
        _number("modify_us"),
        _number("create_user_id"),
        _number("modify_user_id"),
        sa.PrimaryKeyConstraint("id", name="pk_ingress_filter"),
    )
    op.create_table(
        "ingress_filter_rate",
        sa.Column("filter_id", sa.Text(), nullable=False),
        sa.Column("minute", sa.BigInteger(), autoincrement=False, nullable=False),
        _number("processes"),
        sa.PrimaryKeyConstraint("filter_id", "minute", name="pk_ingress_filter_rate"),
    )


def _bans() -> None:
    op.create_table(
        "ban",
        sa.Column("md5", sa.Text(), nullable=False),
        _text("sha256"),
        _text("text"),
        _flag("enabled"),
        _number("user_id"),
        _text("username"),
        _number("time_us"),
        _number("block_count"),
        _number("last_block_us"),
        _number("last_block_sensor_id"),
        _text("last_block_hostname"),
        _number("version"),
        sa.PrimaryKeyConstraint("md5", name="pk_ban"),
    )
    op.create_index("ix_ban_version", "ban", ["version"])
    op.create_table(
        "ban_audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("md5", sa.Text(), nullable=False),
        _number("time_us"),
        _number("user_id"),
        _text("username"),
        _text("text"),
        _flag("enabled"),
        sa.ForeignKeyConstraint(["md5"], ["ban.md5"], name="fk_ban_audit_md5", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_ban_audit"),
    )
    op.create_index("ix_ban_audit_md5", "ban_audit", ["md5"])


def _installers() -> None:
    op.create_table(
        "installer",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("os", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=True),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        _number("size"),
        _number("added_us"),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["sensor_group.id"],
            name="fk_installer_group_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_installer"),
    )
    op.create_table(
        "installer_chunk",
        sa.Column("installer_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["installer_id"],
            ["installer.id"],
            name="fk_installer_chunk_installer_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("installer_id", "number", name="pk_installer_chunk"),
    )
