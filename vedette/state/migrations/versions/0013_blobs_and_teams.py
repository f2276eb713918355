"""Which bytes are kept of the beginning of a file: blobs are named by their content. Teams can be
disabled."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    column = sa.Column("content_sha256", sa.Text(), server_default="", nullable=False)
    op.add_column("stored_file", column)
    enabled: sa.Column[bool] = sa.Column(
        "enabled", sa.Boolean(), server_default=sa.true(), nullable=False
    )
    op.add_column("team", enabled)
