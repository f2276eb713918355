"""Bounded enrolment secrets, re-enrolments that wait for approval, the audit of sensor keys,
numbered flush orders, and who sent which copy of a file."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("expires_us", "uses_max", "uses"):
        op.add_column("enrolment_secret", _number(name))
    for name in ("reenrol_us", "reenrol_approved_us", "flush_number"):
        op.add_column("sensor", _number(name))
    for name in ("reenrol_machine_id", "reenrol_kind"):
        op.add_column("sensor", _text(name))
    op.create_table(
        "sensor_key_event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        _number("time_us"),
        _text("kind"),
        _text("action"),
        _text("machine_id"),
        _text("address"),
        _text("username"),
        sa.ForeignKeyConstraint(
            ["sensor_id"], ["sensor.id"], "fk_sensor_key_event_sensor_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_sensor_key_event"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sensor_key_event_sensor_id", "sensor_key_event", ["sensor_id"])
    op.create_table(
        "stored_file_sender",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        _number("copied"),
        _number("stored_us"),
        sa.ForeignKeyConstraint(
            ["sensor_id"], ["sensor.id"], "fk_stored_file_sender_sensor_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("sha256", "sensor_id", name="pk_stored_file_sender"),
    )
    op.create_index("ix_stored_file_sender_sensor_id", "stored_file_sender", ["sensor_id"])


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)
