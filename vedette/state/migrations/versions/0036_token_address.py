"""The address that a token was last used from."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("token", sa.Column("last_address", sa.Text(), server_default="", nullable=False))
