"""Sensor-update jobs."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "update_job",
        sa.Column("id", sa.Text(), nullable=False),
        _text("login_name"),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("kits", sa.Text(), nullable=False),
        *map(_number, ("created_us", "ended_us", "expires_us", "wave", "failures_max")),
        sa.PrimaryKeyConstraint("id", name="pk_update_job"),
    )
    op.create_index("ix_update_job_status", "update_job", ["status"])
    op.create_table(
        "update_target",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("device_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        *map(_text, ("failure", "reason", "initial_version", "updated_version")),
        _number("hinted_us"),
        *map(_text, ("kit_type", "os")),
        sa.Column("wave", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["update_job.id"], "fk_update_target_job_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "device_id", name="pk_update_target"),
    )
    op.create_index("ix_update_target_device_id", "update_target", ["device_id"])


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
