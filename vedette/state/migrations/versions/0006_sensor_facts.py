"""Which list of denied programs of a sensor was counted last, and what kind of host it is on."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds two columns to `sensor`."""
    number = sa.Column("blocks_number", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("sensor", number)
    op.add_column("sensor", sa.Column("host_type", sa.Text(), server_default="", nullable=False))
