"""Up to which change of partitions each server goes along."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("server", sa.Column("partition_change", sa.BigInteger()))
    op.add_column(
        "commit_counter",
        sa.Column("partition_change", sa.BigInteger(), server_default="0", nullable=False),
    )
