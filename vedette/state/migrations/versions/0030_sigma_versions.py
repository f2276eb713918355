"""Earlier texts of Sigma rules, and values of their placeholders."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sigma_version",
        sa.Column("rule_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), server_default="", nullable=False),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("level", sa.Text(), server_default="", nullable=False),
        sa.Column("text_us", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("text_by", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("rule_id", "revision", name="pk_sigma_version"),
    )
    op.create_table(
        "sigma_placeholder",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), server_default="[]", nullable=False),
        sa.Column("modified_us", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("modified_by", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sigma_placeholder"),
    )
    number = sa.Column("text_us", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("sigma_rule", number)
    op.add_column("sigma_rule", sa.Column("text_by", sa.Text(), server_default="", nullable=False))
    op.execute("UPDATE sigma_rule SET text_us = modified_us, text_by = modified_by")
