"""What ingress filters dropped, by the hour."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "ingress_filter_dropped",
        sa.Column("filter_id", sa.Text(), nullable=False),
        sa.Column("hour", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("events", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("byte_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("filter_id", "hour", name="pk_ingress_filter_dropped"),
    )
