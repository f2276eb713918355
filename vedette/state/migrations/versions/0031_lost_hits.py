"""Hits that were deleted before a forwarder sent them, since too many waited."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    lost = sa.Column("lost", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("forwarder_stream", lost)
