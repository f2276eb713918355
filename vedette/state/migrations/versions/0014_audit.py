"""The audit log, approved addresses, switches and the license."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("time_us", sa.BigInteger(), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in (
                *("author_kind", "author", "address", "request_id", "action", "kind"),
                *("target", "before", "after", "hash"),
            )
        ),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
    op.create_index("ix_audit_time_us", "audit", ["time_us"])
    op.create_index("ix_audit_target", "audit", ["target"])
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit_head"),
    )
    op.bulk_insert(head, [{"id": 1, "number": 0, "hash": "0" * 64}])
    op.create_table(
        "approved_address",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("network", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_approved_address"),
        sa.UniqueConstraint("network", name="uq_approved_address_network"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "switch",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_switch"),
    )
    op.create_table(
        "license",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("applied_us", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_license"),
    )
