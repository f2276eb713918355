"""Watermarks of what follows commits; watchlists, and every id that one had."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "watermark",
        sa.Column("name", sa.Text(), nullable=False),
        _number("seq"),
        sa.PrimaryKeyConstraint("name", name="pk_watermark"),
    )
    op.create_table(
        "watchlist",
        sa.Column("key", sa.Integer(), nullable=False),
        sa.Column("id", sa.Integer(), nullable=False),
        _text("name"),
        sa.Column("description", sa.Text()),
        sa.Column("search_query", sa.Text(), nullable=False),
        sa.Column("index_type", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("readonly", sa.Boolean(), server_default=sa.false(), nullable=False),
        _number("group_id", -1),
        _text("alliance_id"),
        sa.Column("from_alliance", sa.Boolean(), server_default=sa.false(), nullable=False),
        *map(
            _number,
            (
                *("user_id", "date_added_us", "last_hit_us", "last_hit_count", "total_hits"),
                *("total_tags", "search_us", "last_result"),
            ),
        ),
        _text("last_error"),
        *map(_number, ("last_us", "cost_us", "cost_hour")),
        _text("stopped"),
        *map(_number, ("past_ms", "past_from_ms")),
        sa.PrimaryKeyConstraint("key", name="pk_watchlist"),
        sa.UniqueConstraint("id", name="uq_watchlist_id"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "watchlist_id",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("watchlist_key", sa.Integer()),
        *map(_text, ("name", "search_query", "index_type")),
        *map(_number, ("from_us", "until_us")),
        sa.ForeignKeyConstraint(
            ["watchlist_key"],
            ["watchlist.key"],
            "fk_watchlist_id_watchlist_key",
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_watchlist_id"),
    )
    op.create_index("ix_watchlist_id_watchlist_key", "watchlist_id", ["watchlist_key"])


def _number(name: str, default: int = 0) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default=str(default), nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
