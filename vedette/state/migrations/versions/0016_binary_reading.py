"""Which copies of files were read, by which reader; how often copies were asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    text = sa.Column("read_by", sa.Text(), server_default="", nullable=False)
    op.add_column("stored_file", text)
    for name in ("asked", "asked_us"):
        number = sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)
        op.add_column("stored_file", number)
    op.create_index("ix_stored_file_read_by", "stored_file", ["read_by"])
