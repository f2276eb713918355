"""Attempts to sign in, and second factors."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sign_in_attempt",
        sa.Column("name", sa.Text(), nullable=False),
        _number("attempts"),
        _number("first_us"),
        sa.PrimaryKeyConstraint("name", name="pk_sign_in_attempt"),
    )
    op.create_table(
        "second_factor",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("secret", sa.Text(), server_default="", nullable=False),
        sa.Column("proposed", sa.Text(), server_default="", nullable=False),
        _number("used_step"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], "fk_second_factor_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name="pk_second_factor"),
    )


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)
