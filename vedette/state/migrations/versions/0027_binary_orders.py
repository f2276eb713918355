"""Orders for files of programs; copies that an operator added."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "binary_order",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        *map(_text, ("md5", "sha256", "paths", "username", "state", "message")),
        *map(_number, ("created_us", "expires_us", "sent_us", "received", "ended_us")),
        sa.ForeignKeyConstraint(
            ["sensor_id"], ["sensor.id"], "fk_binary_order_sensor_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_binary_order"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_binary_order_sensor_id", "binary_order", ["sensor_id", "state"])
    for name in ("md5", "sha256"):
        op.create_index(f"ix_binary_order_{name}", "binary_order", [name])
    op.add_column("stored_file", _number("added"))


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
