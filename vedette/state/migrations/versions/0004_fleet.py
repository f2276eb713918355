"""Sensors that enrol and check in: their reports, secrets, upload queues, files, live queries."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_NUMBERS = (
    "enrolled_us",
    "reenrolled",
    "checkin_us",
    "next_checkin_us",
    "clock_delta_s",
    "uptime_s",
    "sensor_uptime_s",
    "health_status",
    "eventlog_bytes",
    "storefiles_bytes",
    "volume_total_bytes",
    "volume_free_bytes",
    "memory_bytes",
    "power_state",
    "utc_offset_min",
    "sequence_gaps",
    "missing_blocks",
    "flush_us",
    "uninstalled_us",
)
_TEXTS = (
    "machine_id",
    "sensor_version",
    "boot_id",
    "health_message",
    "network_adapters",
    "addresses",
    "os_version",
    "kernel",
    "arch",
    "computer_sid",
)


def upgrade() -> None:
    """Widens `sensor` and adds the tables of the fleet."""
    for name in _NUMBERS:
        op.add_column("sensor", _number(name))
    for name in _TEXTS:
        op.add_column("sensor", _text(name))
    for name in ("key_sha256", "node_key_sha256"):
        op.add_column("sensor", sa.Column(name, sa.LargeBinary(), nullable=True))
    op.add_column(
        "sensor",
        sa.Column("liveresponse_init", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    _secrets()
    _uploads()
    _queries()


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _belongs(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{to}.id"], name=f"fk_{table}_{column}", ondelete="CASCADE"
    )


def _secrets() -> None:
    op.create_table(
        "enrolment_secret",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        _number("created_us"),
        _number("revoked_us"),
        _belongs("enrolment_secret", "group_id", "sensor_group"),
        sa.PrimaryKeyConstraint("id", name="pk_enrolment_secret"),
        sa.UniqueConstraint("secret", name="uq_enrolment_secret_secret"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_enrolment_secret_group_id", "enrolment_secret", ["group_id"])


def _uploads() -> None:
    op.create_table(
        "sensor_queue",
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Text(), nullable=False),
        _number("expected"),
        _text("missing"),
        _text("hashes"),
        _number("changed_us"),
        _belongs("sensor_queue", "sensor_id", "sensor"),
        sa.PrimaryKeyConstraint("sensor_id", "epoch", name="pk_sensor_queue"),
    )
    op.create_table(
        "stored_file",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        _text("md5"),
        _text("path"),
        _number("size"),
        _number("copied"),
        _number("stored_us"),
        sa.PrimaryKeyConstraint("sha256", "sensor_id", name="pk_stored_file"),
    )
    op.create_index("ix_stored_file_md5", "stored_file", ["md5"])


def _queries() -> None:
    op.create_table(
        "live_query",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("sql", sa.Text(), nullable=False),
        _text("username"),
        _number("created_us"),
        _number("expires_us"),
        sa.PrimaryKeyConstraint("id", name="pk_live_query"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "live_query_target",
        sa.Column("query_id", sa.Integer(), nullable=False),
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        _number("sent_us"),
        _number("answered_us"),
        _number("status"),
        _text("rows"),
        _text("message"),
        _belongs("live_query_target", "query_id", "live_query"),
        _belongs("live_query_target", "sensor_id", "sensor"),
        sa.PrimaryKeyConstraint("query_id", "sensor_id", name="pk_live_query_target"),
    )
    op.create_index("ix_live_query_target_sensor_id", "live_query_target", ["sensor_id"])
