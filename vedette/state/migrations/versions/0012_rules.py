"""Sigma rules, what they cost and found, and what correlations remember."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sigma_rule",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        *map(_text, ("text", "title", "level", "status", "version", "origin", "compiled")),
        _number("codec"),
        _text("problem_reason"),
        _text("problem_message"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        *map(_number, ("revision", "created_us", "modified_us")),
        _text("modified_by"),
        _number("generation"),
        _number("stopped_us"),
        _text("stopped_reason"),
        _number("deleted_us"),
        sa.PrimaryKeyConstraint("id", name="pk_sigma_rule"),
    )
    op.create_index("ix_sigma_rule_generation", "sigma_rule", ["generation"])
    op.create_table(
        "sigma_count",
        sa.Column("rule_id", sa.Text(), nullable=False),
        *map(_number, ("events", "hits", "verify_us", "last_hit_us")),
        sa.PrimaryKeyConstraint("rule_id", name="pk_sigma_count"),
    )
    op.create_table(
        "correlation_state",
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("group_key", sa.Text(), nullable=False),
        _text("body"),
        _number("changed_us"),
        sa.PrimaryKeyConstraint("rule_id", "group_key", name="pk_correlation_state"),
    )
    op.create_index("ix_correlation_state_changed_us", "correlation_state", ["changed_us"])


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
