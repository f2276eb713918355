"""Tokens that may read and change nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    column: sa.Column[bool] = sa.Column(
        "read_only", sa.Boolean(), server_default=sa.false(), nullable=False
    )
    op.add_column("token", column)
