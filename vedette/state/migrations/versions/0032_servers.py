"""Servers of a cluster: which run, what each has, numbers of commits, counts of requests."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "server",
        sa.Column("id", sa.Text(), nullable=False),
        *map(_text, ("url", "certificate", "version", "state_schema")),
        *map(_number, ("telemetry_schema", "started_us", "seen_us", "until_us")),
        sa.PrimaryKeyConstraint("id", name="pk_server"),
    )
    op.create_table(
        "host_slot",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        _text("server_id"),
        *map(_number, ("epoch", "since_us")),
        sa.PrimaryKeyConstraint("slot", name="pk_host_slot"),
    )
    op.create_table(
        "commit_counter",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        _number("newest"),
        sa.PrimaryKeyConstraint("id", name="pk_commit_counter"),
    )
    op.create_table(
        "open_commit",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("server_id", sa.Text(), nullable=False),
        _number("since_us"),
        sa.PrimaryKeyConstraint("seq", name="pk_open_commit"),
    )
    op.create_table(
        "request_count",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("server_id", sa.Text(), nullable=False),
        *map(_number, ("used", "counted_us")),
        sa.PrimaryKeyConstraint("name", "server_id", name="pk_request_count"),
    )


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)
