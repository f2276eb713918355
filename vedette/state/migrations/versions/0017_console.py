"""What people keep in the console, undo of bulk changes, and why hosts are isolated."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_USER = "user_account.id"


def upgrade() -> None:
    _of_people()
    op.create_table(
        "isolation",
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        _text("reason"),
        _text("username"),
        _number("since_us"),
        _number("expires_us"),
        sa.ForeignKeyConstraint(
            ["sensor_id"], ["sensor.id"], "fk_isolation_sensor_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("sensor_id", name="pk_isolation"),
    )
    op.create_index("ix_isolation_expires_us", "isolation", ["expires_us"])
    op.create_table(
        "alert_undo",
        sa.Column("change_id", sa.BigInteger(), autoincrement=False, nullable=False),
        _number("user_id"),
        _text("username"),
        _number("made_us"),
        _number("expires_us"),
        _text("body"),
        sa.PrimaryKeyConstraint("change_id", name="pk_alert_undo"),
    )
    op.create_index("ix_alert_undo_expires_us", "alert_undo", ["expires_us"])
    op.add_column("ban", _number("expires_us"))


def _of_people() -> None:
    op.create_table(
        "preference",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        _number("changed_us"),
        sa.ForeignKeyConstraint(["user_id"], [_USER], "fk_preference_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", name="pk_preference"),
    )
    op.create_table(
        "saved_search",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        _text("params"),
        sa.Column("shared", sa.Boolean(), nullable=False),
        _number("changed_us"),
        sa.ForeignKeyConstraint(
            ["user_id"], [_USER], "fk_saved_search_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_saved_search"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_saved_search_user_id", "saved_search", ["user_id"])
    op.create_table(
        "permalink",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("view", sa.Text(), nullable=False),
        _text("params"),
        _number("made_us"),
        _number("expires_us"),
        sa.ForeignKeyConstraint(["user_id"], [_USER], "fk_permalink_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_permalink"),
    )
    op.create_index("ix_permalink_expires_us", "permalink", ["expires_us"])
    op.create_index("ix_permalink_user_id", "permalink", ["user_id"])


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
