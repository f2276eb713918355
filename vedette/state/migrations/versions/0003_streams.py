"""Streams of process analysis."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table of streams."""
    op.create_table(
        "stream",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("process_id", sa.Text(), nullable=False),
        sa.Column("persistent", sa.Boolean(), nullable=False),
        sa.Column("criteria", sa.Text(), server_default="", nullable=False),
        *map(
            _number,
            (
                *("ref_segment_id", "segment_id", "segment_offset"),
                *("version", "created_us", "used_us"),
            ),
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_stream_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_stream"),
    )
    op.create_index("ix_stream_used_us", "stream", ["used_us"])
    op.create_index("ix_stream_user_id", "stream", ["user_id"])


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)
