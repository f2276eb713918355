"""Which shard of a ClickHouse cluster holds which sensors."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "shard_range",
        sa.Column("first_sensor_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("shards", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("first_sensor_id", name="pk_shard_range"),
    )
    op.create_table(
        "sensor_shard",
        sa.Column("sensor_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("sensor_id", name="pk_sensor_shard"),
    )
