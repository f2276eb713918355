"""Forwarders."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "forwarder",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("types", sa.Text(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        *map(_text, ("options", "sealed", "query", "record_schema", "file_format", "path")),
        *map(_number, ("interval_s", "created_us", "changed_us")),
        sa.PrimaryKeyConstraint("id", name="pk_forwarder"),
        sa.UniqueConstraint("name", name="uq_forwarder_name"),
    )
    op.create_table(
        "forwarder_stream",
        sa.Column("forwarder_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        *map(_number, ("position", "records", "files", "sent_us")),
        *map(_number, ("failures", "failed_us", "retry_us")),
        _text("error"),
        sa.ForeignKeyConstraint(
            ["forwarder_id"],
            ["forwarder.id"],
            "fk_forwarder_stream_forwarder_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("forwarder_id", "type", name="pk_forwarder_stream"),
    )
    op.create_table(
        "forwarded_hit",
        sa.Column("id", sa.Integer(), nullable=False),
        _number("created_us"),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_forwarded_hit"),
        sqlite_autoincrement=True,
    )


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
