"""Jobs of the cloud side, and what it keeps of alerts."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "alert_workflow",
        sa.Column("alert_id", sa.Text(), nullable=False),
        *map(_text, ("closure_reason", "determination", "changed_by")),
        _number("changed_us"),
        sa.PrimaryKeyConstraint("alert_id", name="pk_alert_workflow"),
    )
    op.create_table(
        "alert_settled",
        sa.Column("alert_id", sa.Text(), nullable=False),
        *map(_number, ("first_event_us", "last_event_us", "updated_us")),
        sa.PrimaryKeyConstraint("alert_id", name="pk_alert_settled"),
    )
    op.create_table(
        "alert_note",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("alert_id", sa.Text(), nullable=False),
        *map(_text, ("note", "author")),
        _number("created_us"),
        sa.PrimaryKeyConstraint("id", name="pk_alert_note"),
    )
    op.create_index("ix_alert_note_alert_id", "alert_note", ["alert_id"])
    op.create_table(
        "cloud_job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        _text("author"),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("groups", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        *map(_number, ("total", "completed")),
        _text("errors"),
        *map(_number, ("created_us", "updated_us")),
        sa.PrimaryKeyConstraint("id", name="pk_cloud_job"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_cloud_job_status", "cloud_job", ["status"])
    op.create_index("ix_cloud_job_owner", "cloud_job", ["owner"])


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
