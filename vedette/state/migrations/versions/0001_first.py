"""The first schema: users, teams and tokens, groups and sensors, channel codes, leases."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates every table, those first that others name."""
    _people()
    _hosts()
    _tokens()
    _names()


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), server_default="", nullable=False)


def _time(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False)


def _people() -> None:
    op.create_table(
        "team",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_team"),
        sa.UniqueConstraint("name", name="uq_team_name"),
    )
    op.create_table(
        "user_account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("username", sa.Text(), nullable=False),
        _text("first_name"),
        _text("last_name"),
        _text("email"),
        sa.Column("password_hash", sa.Text(), nullable=True),
        _flag("global_admin"),
        _flag("enabled"),
        _time("created_us"),
        sa.PrimaryKeyConstraint("id", name="pk_user_account"),
        sa.UniqueConstraint("username", name="uq_user_account_username"),
    )
    op.create_table(
        "team_member",
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name="fk_team_member_team_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_team_member_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team_id", "user_id", name="pk_team_member"),
    )


def _hosts() -> None:
    op.create_table(
        "site",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_site"),
        sa.UniqueConstraint("name", name="uq_site_name"),
    )
    op.create_table(
        "sensor_group",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        _text("sensorbackend_server"),
        sa.ForeignKeyConstraint(["site_id"], ["site.id"], name="fk_sensor_group_site_id"),
        sa.PrimaryKeyConstraint("id", name="pk_sensor_group"),
        sa.UniqueConstraint("name", name="uq_sensor_group_name"),
    )
    op.create_table(
        "sensor",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hostname", sa.Text(), nullable=False),
        sa.Column("computer_name", sa.Text(), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=False),
        _text("os_type"),
        _text("interface_ip"),
        _time("first_seen_us"),
        _time("last_seen_us"),
        _time("changed_us"),
        _flag("network_isolation_enabled"),
        _flag("is_isolating"),
        _flag("restart_queued"),
        _flag("uninstall"),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["group_id"], ["sensor_group.id"], name="fk_sensor_group_id"),
        sa.PrimaryKeyConstraint("id", name="pk_sensor"),
        sa.UniqueConstraint("hostname", name="uq_sensor_hostname"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sensor_changed_us", "sensor", ["changed_us"])
    op.create_index("ix_sensor_computer_name", "sensor", ["computer_name"])
    op.create_index("ix_sensor_group_id", "sensor", ["group_id"])
    op.create_index("ix_sensor_last_seen_us", "sensor", ["last_seen_us"])
    op.create_table(
        "host_alias",
        sa.Column("alias", sa.Text(), nullable=False),
        sa.Column("sensor_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sensor_id"], ["sensor.id"], name="fk_host_alias_sensor_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("alias", name="pk_host_alias"),
    )
    op.create_table(
        "team_group_access",
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["sensor_group.id"],
            name="fk_team_group_access_group_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["team.id"], name="fk_team_group_access_team_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("team_id", "group_id", name="pk_team_group_access"),
    )


def _tokens() -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        _text("name"),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("group_id", sa.Integer(), nullable=True),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        _time("created_us"),
        _time("expires_us"),
        _time("revoked_us"),
        _time("last_used_us"),
        sa.ForeignKeyConstraint(
            ["group_id"], ["sensor_group.id"], name="fk_token_group_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_token_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("secret_sha256", name="uq_token_secret_sha256"),
    )


def _names() -> None:
    op.create_table(
        "channel",
        sa.Column("code", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("code", name="pk_channel"),
        sa.UniqueConstraint("name", name="uq_channel_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "kept_value",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_kept_value"),
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        _time("until_us"),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )
