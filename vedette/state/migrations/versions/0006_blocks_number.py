"""Which list of denied programs of a sensor was counted last."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the number that makes a repeated list known."""
    column = sa.Column("blocks_number", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("sensor", column)
