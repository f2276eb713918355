"""Which rules each server judges commits by."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("server", sa.Column("rules_generation", sa.BigInteger()))
