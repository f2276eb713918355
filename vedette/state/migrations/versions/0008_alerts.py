"""Ignored reports, suppression rules, and the audit of bulk changes of alerts."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "report_ignored",
        sa.Column("feed_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("report_id", sa.Text(), nullable=False),
        _number("user_id"),
        _text("username"),
        _number("time_us"),
        _number("hits"),
        sa.PrimaryKeyConstraint("feed_id", "report_id", name="pk_report_ignored"),
    )
    op.create_table(
        "suppression",
        sa.Column("id", sa.Integer(), nullable=False),
        _text("name"),
        sa.Column("query", sa.Text(), nullable=False),
        _text("reason"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        *(_number(name) for name in ("created_us", "changed_us", "expires_us", "user_id")),
        _text("username"),
        _number("hits"),
        _number("last_hit_us"),
        sa.PrimaryKeyConstraint("id", name="pk_suppression"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "alert_audit",
        sa.Column("id", sa.Integer(), nullable=False),
        _number("time_us"),
        _number("user_id"),
        *(_text(name) for name in ("username", "selected", "changes")),
        _number("changed"),
        _number("change_id"),
        sa.PrimaryKeyConstraint("id", name="pk_alert_audit"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_alert_audit_time_us", "alert_audit", ["time_us"])


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
