"""Feeds of threat intelligence, and what was wrong with them."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feed",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("folded_name", sa.Text(), nullable=False),
        _text("display_name"),
        sa.Column("feed_url", sa.Text(), nullable=False),
        _text("provider_url"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("manually_added", sa.Boolean(), nullable=False),
        *(
            sa.Column(name, sa.Text())
            for name in (
                *("summary", "tech_data", "category", "icon", "icon_small"),
                *("requires", "requires_what", "requires_who", "ssl_client_crt", "username"),
            )
        ),
        sa.Column("position", sa.Integer()),
        sa.Column("use_proxy", sa.Boolean()),
        sa.Column("validate_server_cert", sa.Boolean()),
        sa.Column("provider_rating", sa.Float()),
        sa.Column("local_rating", sa.Float()),
        *map(_text, ("password_sealed", "ssl_client_key_sealed")),
        *map(_number, ("created_us", "changed_us")),
        sa.Column("sync_wanted", sa.SmallInteger(), server_default="0", nullable=False),
        *map(_number, ("sync_requested_us", "sync_started_us", "synced_us", "full_synced_us")),
        *map(_number, ("next_sync_us", "failures")),
        *map(_text, ("last_error", "etag", "format")),
        *map(_number, ("reports_read", "reports_changed", "reports_deleted")),
        *map(_number, ("iocs_read", "errors")),
        sa.PrimaryKeyConstraint("id", name="pk_feed"),
        sa.UniqueConstraint("folded_name", name="uq_feed_folded_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "feed_error",
        sa.Column("feed_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        *map(_text, ("place", "report_id", "problem")),
        sa.ForeignKeyConstraint(
            ["feed_id"], ["feed.id"], "fk_feed_error_feed_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("feed_id", "number", name="pk_feed_error"),
    )


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
