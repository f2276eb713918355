"""In which hours the health of sensors changed."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sensor_health",
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        sa.Column("hour", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("earlier", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("least", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("latest", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("message", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["sensor_id"],
            ["sensor.id"],
            name="fk_sensor_health_sensor_id_sensor",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("sensor_id", "hour", name="pk_sensor_health"),
    )
    op.create_index("ix_sensor_health_hour", "sensor_health", ["hour"])
