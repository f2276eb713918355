"""Sensor groups may show processes without events as suppressed; none does so by itself."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the setting to every group, off."""
    op.add_column(
        "sensor_group",
        sa.Column("suppress_children", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
