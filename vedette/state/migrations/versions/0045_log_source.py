"""Counts events by log source, for the state of rules."""

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "log_source",
        Column("source", Text, primary_key=True),
        *(
            Column(name, BigInteger, nullable=False, server_default="0")
            for name in ("events", "first_us", "last_us")
        ),
    )
