"""Actions, the outbox with its targets, response by rule."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _actions()
    _outbox()
    _responses()


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _actions() -> None:
    op.create_table(
        "action",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("source_kind", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("type", sa.SmallInteger(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("data", sa.Text(), server_default="{}", nullable=False),
        _text("secret"),
        _number("changed_us"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], "fk_action_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_action"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_action_source_id", "action", ["source_id", "source_kind"])


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        _number("action_id"),
        _text("body"),
        _number("created_us"),
        _number("due_us"),
        _number("changed_us"),
        _number("attempts"),
        _text("error"),
        sa.PrimaryKeyConstraint("id", name="pk_outbox"),
        sa.UniqueConstraint("key", name="uq_outbox_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_target", "outbox", ["target", "state", "id"])
    op.create_index("ix_outbox_state", "outbox", ["state", "changed_us"])
    op.create_table(
        "outbox_target",
        sa.Column("name", sa.Text(), nullable=False),
        _text("holder"),
        _number("held_until_us"),
        _number("failures"),
        _number("failing_since_us"),
        _number("next_us"),
        _number("waiting"),
        _number("refused"),
        _number("refused_us"),
        _number("sent"),
        _number("sent_us"),
        _text("error"),
        sa.PrimaryKeyConstraint("name", name="pk_outbox_target"),
    )


def _responses() -> None:
    op.create_table(
        "response_policy",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        _number("changed_us"),
        _text("username"),
        sa.PrimaryKeyConstraint("id", name="pk_response_policy"),
        sa.UniqueConstraint("name", name="uq_response_policy_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "response",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("policy_id", sa.Integer(), nullable=False),
        sa.Column("detection_id", sa.Text(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        _text("policy_name"),
        _text("action"),
        _text("subject"),
        _number("sensor_id"),
        _text("rule_id"),
        _text("title"),
        _number("created_us"),
        _number("done_us"),
        _number("ends_us"),
        _number("undone_us"),
        _text("text"),
        sa.PrimaryKeyConstraint("id", name="pk_response"),
        sa.UniqueConstraint("policy_id", "detection_id", name="uq_response_policy_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_response_state", "response", ["state", "ends_us"])
