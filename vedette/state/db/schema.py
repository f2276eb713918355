"""Tables of the control state. Migrations (`migrations/`) create them; a test compares both.

Times are epoch microseconds UTC in 64-bit integers (`*_us`); 0 means never. Names are compared
exactly, except user names and host names, which are stored in lower case.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    false,
    true,
)

from vedette.record.columns import columns
from vedette.record.member import audited_members
from vedette.record.objects.ban import Ban
from vedette.record.objects.site import Site
from vedette.state.db.audited import audited

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _number(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=str(default))


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


USER = Table(
    "user_account",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("username", Text, nullable=False, unique=True),
    _text("first_name"),
    _text("last_name"),
    _text("email"),
    Column("password_hash", Text),  # argon2id; null: no password, tokens only
    _flag("global_admin"),
    _flag("enabled"),
    _number("created_us"),
    info=audited("user", "username", secrets=("password_hash",)),
)

SITE = Table(
    "site",
    METADATA,
    *columns(
        Site,
        Column("id", Integer, primary_key=True),
        Column("name", Text, nullable=False, unique=True),
    ),
    info=audited("site", "name"),
)

GROUP = Table(
    "sensor_group",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("site_id", ForeignKey("site.id"), nullable=False),
    _text("sensorbackend_server"),
    # Whether the API shows processes that only loaded modules as suppressed
    # (docs/api-objects.md#process-events).
    Column("suppress_children", Boolean, nullable=False, server_default=false()),
    Column("options", Text, nullable=False, server_default="{}"),  # JSON of GroupOptions
    info=audited("group", "name"),
)

TEAM = Table(
    "team",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    info=audited("team", "name"),
)

TEAM_ACCESS = Table(
    "team_group_access",
    METADATA,
    Column("team_id", ForeignKey("team.id", ondelete="CASCADE"), primary_key=True),
    Column("group_id", ForeignKey("sensor_group.id", ondelete="CASCADE"), primary_key=True),
    Column("role", SmallInteger, nullable=False),  # model.principal.Role
    info=audited("team access", "team_id", "group_id"),
)

TEAM_MEMBER = Table(
    "team_member",
    METADATA,
    Column("team_id", ForeignKey("team.id", ondelete="CASCADE"), primary_key=True),
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True),
    info=audited("team member", "team_id", "user_id"),
)

TOKEN = Table(
    "token",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),  # model TokenKind: api, ingest, session, link
    _text("name"),
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE")),
    Column("group_id", ForeignKey("sensor_group.id", ondelete="CASCADE")),
    Column("secret_sha256", LargeBinary, nullable=False, unique=True),
    _number("created_us"),
    _number("expires_us"),  # 0: never
    _number("revoked_us"),  # 0: not revoked
    _number("last_used_us"),  # updated with a delay
    _text("last_address"),  # address of the last use
    Column("read_only", Boolean, nullable=False, server_default=false()),
    _number("identity_id"),  # identity that began a session; 0: a password
    info=audited(
        "token",
        "id",
        only=(
            "id",
            "kind",
            "name",
            "user_id",
            "group_id",
            "expires_us",
            "revoked_us",
            "read_only",
            "identity_id",
        ),
        secrets=("secret_sha256",),
    ),
)

SENSOR = Table(
    "sensor",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("hostname", Text, nullable=False),  # full name, lower case
    Column("computer_name", Text, nullable=False),
    Column("group_id", ForeignKey("sensor_group.id"), nullable=False),
    _text("os_type"),  # windows, linux, osx or ""
    _text("interface_ip"),  # latest local address seen in telemetry
    _number("first_seen_us"),
    _number("last_seen_us"),
    _number("earlier_seen_us"),  # latest contact on an earlier day (UTC); 0: none
    _number("changed_us"),  # latest change of a cached column
    _flag("network_isolation_enabled"),
    _flag("is_isolating"),
    _flag("restart_queued"),
    _flag("uninstall"),
    Column("notes", Text),
    # Enrolment (docs/sensor-enrollment.md); empty for hosts that only shippers report.
    _number("enrolled_us"),
    Column("key_sha256", LargeBinary),  # sensor program's key; null: never enrolled, or ended
    Column("node_key_sha256", LargeBinary),  # key of osquery on the same host
    _text("machine_id"),
    _number("reenrolled"),  # enrolments of other machine ids under this name
    # A pending enrolment that would replace a key and needs an administrator's approval; 0: none.
    _number("reenrol_us"),
    _number("reenrol_approved_us"),
    _text("reenrol_machine_id"),
    _text("reenrol_kind"),  # sensor or osquery
    # The last check-in, and the sensor's own status report.
    _number("checkin_us"),
    _number("next_checkin_us"),
    _text("sensor_version"),
    _text("boot_id"),
    _number("clock_delta_s"),  # sensor's clock minus server's clock
    _number("uptime_s"),
    _number("sensor_uptime_s"),
    _number("health_status", 0),  # 0 to 100
    _text("health_message"),
    _number("eventlog_bytes"),
    _number("storefiles_bytes"),
    _number("volume_total_bytes"),
    _number("volume_free_bytes"),
    _number("memory_bytes"),
    _text("network_adapters"),  # format: docs/api-objects.md#sensor
    _text("addresses"),  # addresses only, for searches
    _number("power_state"),
    _number("utc_offset_min"),
    _text("os_version"),
    _text("kernel"),
    _text("arch"),
    _text("computer_sid"),
    _text("host_type"),  # workstation, server, domain_controller or "", as the sensor reports it
    _number("sequence_gaps"),
    _number("missing_blocks"),
    _number("blocks_number"),  # last counted list of denied programs
    # Further orders.
    _number("flush_us"),  # 0: none
    _number("flush_number"),  # number of the latest flush order
    _number("uninstalled_us"),  # 0: not uninstalled
    Column("liveresponse_init", Boolean, nullable=False, server_default=false()),
    Index("ix_sensor_group_id", "group_id"),
    Index("ix_sensor_last_seen_us", "last_seen_us"),
    Index("ix_sensor_computer_name", "computer_name"),
    Index("ix_sensor_changed_us", "changed_us"),
    UniqueConstraint("hostname", "group_id"),  # so senders cannot occupy names of other groups
    sqlite_autoincrement=True,  # never reuses an id: process ids contain it
    info=audited(
        "sensor",
        "hostname",
        only=(
            "network_isolation_enabled",
            "restart_queued",
            "uninstall",
            "group_id",
            "notes",
            "liveresponse_init",
            "flush_us",
        ),
    ),
)

ALIAS = Table(
    "host_alias",
    METADATA,
    Column("alias", Text, primary_key=True),  # another name of the host, lower case
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE"), primary_key=True),
    info=audited("host alias", "alias"),
)

NAME_OWNER = Table(
    "host_name_owner",  # decisions about names that several groups claim
    METADATA,
    Column("hostname", Text, primary_key=True),  # full name or alias, lower case
    Column("group_id", ForeignKey("sensor_group.id", ondelete="CASCADE"), primary_key=True),
    # Target of records from the group's senders; null: the group's own sensor.
    Column("sensor_id", ForeignKey("sensor.id", ondelete="CASCADE")),
    _number("decided_us"),
    _text("username"),
    Index("ix_host_name_owner_sensor_id", "sensor_id"),
    info=audited("host name", "hostname", "group_id"),
)

CHANNEL = Table(
    "channel",
    METADATA,
    Column("code", Integer, primary_key=True),  # part of record keys: never changes
    Column("name", Text, nullable=False, unique=True),
    sqlite_autoincrement=True,
)

VALUE = Table(
    "kept_value",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

LEASE = Table(
    "lease",
    METADATA,
    Column("name", Text, primary_key=True),  # name of the job
    Column("holder", Text, nullable=False),
    _number("until_us"),
)

STREAM = Table(
    "stream",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), nullable=False),
    Column("process_id", Text, nullable=False),
    _flag("persistent"),
    _text("criteria"),  # JSON: facet field to ids
    _number("ref_segment_id"),
    _number("segment_id"),
    _number("segment_offset"),  # among events that match the criteria
    _number("version"),  # incremented by every change: optimistic locking
    _number("created_us"),
    _number("used_us"),  # updated with a delay
    Index("ix_stream_user_id", "user_id"),
    Index("ix_stream_used_us", "used_us"),
)

INGRESS_FILTER = Table(
    "ingress_filter",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("body", Text, nullable=False),  # JSON of record.objects.ingress_filter
    _number("priority"),
    _number("create_us"),
    _number("modify_us"),
    _number("create_user_id"),
    _number("modify_user_id"),
    info=audited("ingress filter", "id", only=("id", "body")),
)

FILTER_RATE = Table(
    "ingress_filter_rate",
    METADATA,
    Column("filter_id", Text, primary_key=True),  # "": number of examined processes
    Column("minute", BigInteger, primary_key=True, autoincrement=False),  # minutes since 1970
    _number("processes"),
)

FILTER_DROPPED = Table(
    "ingress_filter_dropped",
    METADATA,
    Column("filter_id", Text, primary_key=True),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),  # hours since 1970
    _number("events"),
    _number("byte_count"),
)

BAN = Table(
    "ban",
    METADATA,
    # `sha256` has claims of senders, stored by older versions; it is not read.
    *columns(Ban, Column("md5", Text, primary_key=True)),
    Index("ix_ban_version", "version"),
    info=audited("ban", "md5", only=audited_members(Ban)),
)

BAN_AUDIT = Table(
    "ban_audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("md5", ForeignKey("ban.md5", ondelete="CASCADE"), nullable=False),
    _number("time_us"),
    _number("user_id"),
    _text("username"),
    _text("text"),
    _flag("enabled"),
    Index("ix_ban_audit_md5", "md5"),
)

INSTALLER = Table(
    "installer",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("os", Text, nullable=False),  # windows, osx
    Column("kind", Text, nullable=False),  # exe, msi, pkg
    Column("group_id", ForeignKey("sensor_group.id", ondelete="CASCADE")),  # null: all groups
    Column("version", Text, nullable=False),
    Column("file_name", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    _number("size"),
    _number("added_us"),
    info=audited("installer", "file_name"),
)

INSTALLER_CHUNK = Table(
    "installer_chunk",
    METADATA,
    Column("installer_id", ForeignKey("installer.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)

APPROVED_ADDRESS = Table(
    "approved_address",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("network", Text, nullable=False, unique=True),  # an address or a block
    info=audited("approved address", "network"),
    sqlite_autoincrement=True,
)

SWITCH = Table(
    "switch",
    METADATA,
    Column("name", Text, primary_key=True),
    _flag("is_on"),
    info=audited("switch", "name"),
)
"""Settings that can be switched while the server runs."""

LICENSE = Table(
    "license",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),  # 1: the only row
    Column("token", Text, nullable=False),
    _number("applied_us"),
)

SIGN_IN_ATTEMPT = Table(
    "sign_in_attempt",
    METADATA,
    Column("name", Text, primary_key=True),  # key of an address, a user (hashed), or both
    _number("attempts"),
    _number("first_us"),
)

SECOND_FACTOR = Table(
    "second_factor",
    METADATA,
    Column("user_id", ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True),
    _text("secret"),  # active secret, sealed; "" for none
    _text("proposed"),  # secret that awaits confirmation, sealed
    _number("used_step"),  # time step of the newest used code: prevents reuse
    info=audited("second factor", "user_id", only=("user_id",), secrets=("secret", "proposed")),
)
