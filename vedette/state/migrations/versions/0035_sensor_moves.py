"""Sensors that are being moved to another shard, and what each server has seen of it."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sensor_move",
        sa.Column("sensor_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("source", sa.Integer(), nullable=False),
        sa.Column("target", sa.Integer(), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sensor_id", name="pk_sensor_move"),
    )
    op.add_column("server", sa.Column("shard_version", sa.BigInteger()))
    op.add_column(
        "host_slot", sa.Column("held", sa.BigInteger(), server_default="0", nullable=False)
    )
