"""Schema of the first version.

A migration never changes, so it imports nothing from Vedette: this is a copy of the tables in
`state/db/schema*.py` and `state/servers/tables.py`, which describe the columns. Later migrations
have higher numbers.
"""

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
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

revision = "0044"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _SCHEMA.create_all(op.get_bind(), checkfirst=False)
    op.bulk_insert(_SCHEMA.tables["audit_head"], [{"id": 1, "number": 0, "hash": "0" * 64}])


def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True)


def _texts(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False, server_default="") for name in names]


def _numbers(*names: str) -> list[Column[int]]:
    return [Column(name, BigInteger, nullable=False, server_default="0") for name in names]


def _required(*names: str) -> list[Column[str]]:
    return [Column(name, Text, nullable=False) for name in names]


def _flags(*names: str) -> list[Column[bool]]:
    return [Column(name, Boolean, nullable=False) for name in names]


def _cascade(target: str) -> ForeignKey:
    return ForeignKey(target, ondelete="CASCADE")


_SCHEMA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

Table(
    "user_account",
    _SCHEMA,
    _id(),
    Column("username", Text, nullable=False, unique=True),
    *_texts("first_name", "last_name", "email"),
    Column("password_hash", Text),
    *_flags("global_admin", "enabled"),
    *_numbers("created_us"),
)
Table("site", _SCHEMA, _id(), Column("name", Text, nullable=False, unique=True))
Table(
    "sensor_group",
    _SCHEMA,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("site_id", ForeignKey("site.id"), nullable=False),
    *_texts("sensorbackend_server"),
    Column("suppress_children", Boolean, nullable=False, server_default=false()),
    Column("options", Text, nullable=False, server_default="{}"),
)
Table(
    "team",
    _SCHEMA,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False, server_default=true()),
)
Table(
    "team_group_access",
    _SCHEMA,
    Column("team_id", _cascade("team.id"), primary_key=True),
    Column("group_id", _cascade("sensor_group.id"), primary_key=True),
    Column("role", SmallInteger, nullable=False),
)
Table(
    "team_member",
    _SCHEMA,
    Column("team_id", _cascade("team.id"), primary_key=True),
    Column("user_id", _cascade("user_account.id"), primary_key=True),
)
Table(
    "token",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_required("kind"),
    *_texts("name"),
    Column("user_id", _cascade("user_account.id")),
    Column("group_id", _cascade("sensor_group.id")),
    Column("secret_sha256", LargeBinary, nullable=False, unique=True),
    *_numbers("created_us", "expires_us", "revoked_us", "last_used_us"),
    *_texts("last_address"),
    Column("read_only", Boolean, nullable=False, server_default=false()),
    *_numbers("identity_id"),
)
Table(
    "sensor",
    _SCHEMA,
    _id(),
    *_required("hostname", "computer_name"),
    Column("group_id", ForeignKey("sensor_group.id"), nullable=False),
    *_texts("os_type", "interface_ip"),
    *_numbers("first_seen_us", "last_seen_us", "earlier_seen_us", "changed_us"),
    *_flags("network_isolation_enabled", "is_isolating", "restart_queued", "uninstall"),
    Column("notes", Text),
    *_numbers("enrolled_us"),
    Column("key_sha256", LargeBinary),
    Column("node_key_sha256", LargeBinary),
    *_texts("machine_id"),
    *_numbers("reenrolled", "reenrol_us", "reenrol_approved_us"),
    *_texts("reenrol_machine_id", "reenrol_kind"),
    *_numbers("checkin_us", "next_checkin_us"),
    *_texts("sensor_version", "boot_id"),
    *_numbers("clock_delta_s", "uptime_s", "sensor_uptime_s", "health_status"),
    *_texts("health_message"),
    *_numbers(
        "eventlog_bytes",
        "storefiles_bytes",
        "volume_total_bytes",
        "volume_free_bytes",
        "memory_bytes",
    ),
    *_texts("network_adapters", "addresses"),
    *_numbers("power_state", "utc_offset_min"),
    *_texts("os_version", "kernel", "arch", "computer_sid", "host_type"),
    *_numbers(
        "sequence_gaps",
        "missing_blocks",
        "blocks_number",
        "flush_us",
        "flush_number",
        "uninstalled_us",
    ),
    Column("liveresponse_init", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("hostname", "group_id"),
    Index("ix_sensor_changed_us", "changed_us"),
    Index("ix_sensor_computer_name", "computer_name"),
    Index("ix_sensor_group_id", "group_id"),
    Index("ix_sensor_last_seen_us", "last_seen_us"),
    sqlite_autoincrement=True,
)
Table(
    "host_alias",
    _SCHEMA,
    Column("alias", Text, primary_key=True),
    Column("sensor_id", _cascade("sensor.id"), primary_key=True),
)
Table(
    "host_name_owner",
    _SCHEMA,
    Column("hostname", Text, primary_key=True),
    Column("group_id", _cascade("sensor_group.id"), primary_key=True),
    Column("sensor_id", _cascade("sensor.id")),
    *_numbers("decided_us"),
    *_texts("username"),
    Index("ix_host_name_owner_sensor_id", "sensor_id"),
)
Table(
    "channel",
    _SCHEMA,
    Column("code", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    sqlite_autoincrement=True,
)
Table("kept_value", _SCHEMA, Column("name", Text, primary_key=True), *_required("value"))
Table(
    "lease",
    _SCHEMA,
    Column("name", Text, primary_key=True),
    *_required("holder"),
    *_numbers("until_us"),
)
Table(
    "stream",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    Column("user_id", _cascade("user_account.id"), nullable=False),
    *_required("process_id"),
    *_flags("persistent"),
    *_texts("criteria"),
    *_numbers("ref_segment_id", "segment_id", "segment_offset", "version", "created_us", "used_us"),
    Index("ix_stream_used_us", "used_us"),
    Index("ix_stream_user_id", "user_id"),
)
Table(
    "ingress_filter",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_required("body"),
    *_numbers("priority", "create_us", "modify_us", "create_user_id", "modify_user_id"),
)
Table(
    "ingress_filter_rate",
    _SCHEMA,
    Column("filter_id", Text, primary_key=True),
    Column("minute", BigInteger, primary_key=True, autoincrement=False),
    *_numbers("processes"),
)
Table(
    "ingress_filter_dropped",
    _SCHEMA,
    Column("filter_id", Text, primary_key=True),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),
    *_numbers("events", "byte_count"),
)
Table(
    "ban",
    _SCHEMA,
    Column("md5", Text, primary_key=True),
    *_texts("sha256", "text"),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    *_numbers("user_id"),
    *_texts("username"),
    *_numbers("time_us", "block_count", "last_block_us", "last_block_sensor_id"),
    *_texts("last_block_hostname"),
    *_numbers("version", "expires_us"),
    Index("ix_ban_version", "version"),
)
Table(
    "ban_audit",
    _SCHEMA,
    _id(),
    Column("md5", _cascade("ban.md5"), nullable=False),
    *_numbers("time_us", "user_id"),
    *_texts("username", "text"),
    *_flags("enabled"),
    Index("ix_ban_audit_md5", "md5"),
)
Table(
    "installer",
    _SCHEMA,
    _id(),
    *_required("os", "kind"),
    Column("group_id", _cascade("sensor_group.id")),
    *_required("version", "file_name", "sha256"),
    *_numbers("size", "added_us"),
)
Table(
    "installer_chunk",
    _SCHEMA,
    Column("installer_id", _cascade("installer.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)
Table(
    "approved_address",
    _SCHEMA,
    _id(),
    Column("network", Text, nullable=False, unique=True),
    sqlite_autoincrement=True,
)
Table("switch", _SCHEMA, Column("name", Text, primary_key=True), *_flags("is_on"))
Table(
    "license",
    _SCHEMA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    *_required("token"),
    *_numbers("applied_us"),
)
Table(
    "sign_in_attempt",
    _SCHEMA,
    Column("name", Text, primary_key=True),
    *_numbers("attempts", "first_us"),
)
Table(
    "second_factor",
    _SCHEMA,
    Column("user_id", _cascade("user_account.id"), primary_key=True),
    *_texts("secret", "proposed"),
    *_numbers("used_step"),
)
Table(
    "action",
    _SCHEMA,
    _id(),
    *_required("source_kind", "source_id"),
    Column("type", SmallInteger, nullable=False),
    *_flags("enabled"),
    Column("user_id", _cascade("user_account.id")),
    Column("data", Text, nullable=False, server_default="{}"),
    *_texts("secret", "author"),
    *_numbers("changed_us"),
    Index("ix_action_source_id", "source_id", "source_kind"),
    sqlite_autoincrement=True,
)
Table(
    "outbox",
    _SCHEMA,
    _id(),
    Column("key", Text, nullable=False, unique=True),
    *_required("target"),
    Column("state", SmallInteger, nullable=False),
    *_numbers("action_id"),
    *_texts("body"),
    *_numbers("created_us", "due_us", "changed_us", "attempts"),
    *_texts("error"),
    Index("ix_outbox_state", "state", "changed_us"),
    Index("ix_outbox_target", "target", "state", "id"),
    sqlite_autoincrement=True,
)
Table(
    "outbox_target",
    _SCHEMA,
    Column("name", Text, primary_key=True),
    *_texts("holder"),
    *_numbers(
        "held_until_us",
        "failures",
        "failing_since_us",
        "next_us",
        "waiting",
        "refused",
        "refused_us",
        "sent",
        "sent_us",
    ),
    *_texts("error"),
)
Table(
    "response_policy",
    _SCHEMA,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    *_flags("enabled"),
    *_required("body"),
    *_numbers("changed_us"),
    *_texts("username"),
    sqlite_autoincrement=True,
)
Table(
    "response",
    _SCHEMA,
    _id(),
    Column("policy_id", Integer, nullable=False),
    *_required("detection_id"),
    Column("state", SmallInteger, nullable=False),
    *_texts("policy_name", "action", "subject"),
    *_numbers("sensor_id"),
    *_texts("rule_id", "title"),
    *_numbers("created_us", "done_us", "ends_us", "undone_us"),
    *_texts("text"),
    UniqueConstraint("policy_id", "detection_id"),
    Index("ix_response_state", "state", "ends_us"),
    sqlite_autoincrement=True,
)
Table(
    "report_ignored",
    _SCHEMA,
    Column("feed_id", BigInteger, primary_key=True, autoincrement=False),
    Column("report_id", Text, primary_key=True),
    *_numbers("user_id"),
    *_texts("username"),
    *_numbers("time_us", "hits"),
)
Table(
    "suppression",
    _SCHEMA,
    _id(),
    *_texts("name"),
    *_required("query"),
    *_texts("reason"),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    *_numbers("created_us", "changed_us", "expires_us", "user_id"),
    *_texts("username"),
    *_numbers("hits", "last_hit_us"),
    sqlite_autoincrement=True,
)
Table(
    "alert_audit",
    _SCHEMA,
    _id(),
    *_numbers("time_us", "user_id"),
    *_texts("username", "selected", "changes"),
    *_numbers("changed", "change_id"),
    Index("ix_alert_audit_time_us", "time_us"),
    sqlite_autoincrement=True,
)
Table(
    "alert_undo",
    _SCHEMA,
    Column("change_id", BigInteger, primary_key=True, autoincrement=False),
    *_numbers("user_id"),
    *_texts("username"),
    *_numbers("made_us", "expires_us"),
    *_texts("body"),
    Index("ix_alert_undo_expires_us", "expires_us"),
)
Table(
    "audit",
    _SCHEMA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("time_us", BigInteger, nullable=False),
    *_required(
        "author_kind",
        "author",
        "address",
        "request_id",
        "action",
        "kind",
        "target",
        "before",
        "after",
        "hash",
    ),
    Index("ix_audit_target", "target"),
    Index("ix_audit_time_us", "time_us"),
)
Table(
    "audit_head",
    _SCHEMA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    *_required("hash"),
)
Table(
    "cloud_role",
    _SCHEMA,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    *_texts("description"),
    *_required("permissions"),
    *_flags("all_groups"),
    sqlite_autoincrement=True,
)
Table(
    "cloud_role_group",
    _SCHEMA,
    Column("role_id", _cascade("cloud_role.id"), primary_key=True),
    Column("group_id", _cascade("sensor_group.id"), primary_key=True),
)
Table(
    "cloud_app",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_required("kind"),
    Column("name", Text, nullable=False, unique=True),
    *_texts("description", "org_role"),
    *_numbers("token_ttl_s"),
    Column("secret_sha256", LargeBinary, nullable=False),
    *_numbers("secret_number"),
    *_flags("enabled"),
    *_numbers("created_us", "last_used_us"),
)
Table(
    "cloud_app_role",
    _SCHEMA,
    Column("app_id", _cascade("cloud_app.id"), primary_key=True),
    Column("role_id", _cascade("cloud_role.id"), primary_key=True),
)
Table(
    "signing_key",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_required("sealed", "public"),
    *_numbers("created_us"),
)
Table(
    "alert_workflow",
    _SCHEMA,
    Column("alert_id", Text, primary_key=True),
    *_texts("closure_reason", "determination", "changed_by"),
    *_numbers("changed_us"),
)
Table(
    "alert_settled",
    _SCHEMA,
    Column("alert_id", Text, primary_key=True),
    *_numbers("first_event_us", "last_event_us", "updated_us"),
)
Table(
    "alert_note",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_required("alert_id"),
    *_texts("note", "author"),
    *_numbers("created_us"),
    Index("ix_alert_note_alert_id", "alert_id"),
)
Table(
    "cloud_job",
    _SCHEMA,
    _id(),
    *_required("kind", "owner"),
    *_texts("author"),
    *_required("request", "groups", "status"),
    *_numbers("total", "completed"),
    *_texts("errors"),
    *_numbers("created_us", "updated_us"),
    Index("ix_cloud_job_owner", "owner"),
    Index("ix_cloud_job_status", "status"),
    sqlite_autoincrement=True,
)
Table(
    "preference",
    _SCHEMA,
    Column("user_id", _cascade("user_account.id"), primary_key=True),
    *_required("body"),
    *_numbers("changed_us"),
)
Table(
    "saved_search",
    _SCHEMA,
    _id(),
    Column("user_id", _cascade("user_account.id"), nullable=False),
    *_required("name", "view"),
    *_texts("params"),
    Column("shared", Boolean, nullable=False, server_default=false()),
    *_numbers("changed_us"),
    Index("ix_saved_search_user_id", "user_id"),
    sqlite_autoincrement=True,
)
Table(
    "permalink",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    Column("user_id", _cascade("user_account.id"), nullable=False),
    *_required("view"),
    *_texts("params"),
    *_numbers("made_us", "expires_us"),
    Index("ix_permalink_expires_us", "expires_us"),
    Index("ix_permalink_user_id", "user_id"),
)
Table(
    "isolation",
    _SCHEMA,
    Column("sensor_id", _cascade("sensor.id"), primary_key=True),
    *_texts("reason", "username"),
    *_numbers("since_us", "expires_us"),
    Index("ix_isolation_expires_us", "expires_us"),
)
Table(
    "identity_provider",
    _SCHEMA,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    *_texts("label"),
    Column("issuer", Text, nullable=False, unique=True),
    *_required("client_id"),
    *_texts("secret", "scope"),
    *_flags("creates_users"),
    *_texts("username_claim", "team_claim"),
    *_flags("enabled"),
    *_numbers("created_us"),
    sqlite_autoincrement=True,
)
Table(
    "identity_provider_team",
    _SCHEMA,
    Column("provider_id", _cascade("identity_provider.id"), primary_key=True),
    Column("value", Text, primary_key=True),
    Column("team_id", _cascade("team.id"), primary_key=True),
)
Table(
    "identity",
    _SCHEMA,
    _id(),
    Column("provider_id", _cascade("identity_provider.id"), nullable=False),
    *_required("subject"),
    Column("user_id", _cascade("user_account.id"), nullable=False),
    *_flags("follows_claims"),
    *_numbers("created_us", "last_used_us"),
    Index("ix_identity_user_id", "user_id"),
    Index("uq_identity_provider_id_subject", "provider_id", "subject", unique=True),
    sqlite_autoincrement=True,
)
Table(
    "feed",
    _SCHEMA,
    _id(),
    *_required("name"),
    Column("folded_name", Text, nullable=False, unique=True),
    *_texts("display_name"),
    *_required("feed_url"),
    *_texts("provider_url"),
    Column("enabled", Boolean, nullable=False, server_default=false()),
    Column("manually_added", Boolean, nullable=False, server_default=true()),
    Column("summary", Text),
    Column("tech_data", Text),
    Column("category", Text),
    Column("icon", Text),
    Column("icon_small", Text),
    Column("requires", Text),
    Column("requires_what", Text),
    Column("requires_who", Text),
    Column("ssl_client_crt", Text),
    Column("username", Text),
    Column("position", Integer),
    Column("use_proxy", Boolean),
    Column("validate_server_cert", Boolean),
    Column("provider_rating", Float),
    Column("local_rating", Float),
    *_texts("password_sealed", "ssl_client_key_sealed"),
    *_numbers("created_us", "changed_us"),
    Column("sync_wanted", SmallInteger, nullable=False, server_default="0"),
    *_numbers(
        "sync_requested_us",
        "sync_started_us",
        "synced_us",
        "full_synced_us",
        "next_sync_us",
        "failures",
    ),
    *_texts("last_error", "etag", "format"),
    *_numbers("reports_read", "reports_changed", "reports_deleted", "iocs_read", "errors"),
    sqlite_autoincrement=True,
)
Table(
    "feed_error",
    _SCHEMA,
    Column("feed_id", _cascade("feed.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    *_texts("place", "report_id", "problem"),
)
Table(
    "enrolment_secret",
    _SCHEMA,
    _id(),
    Column("group_id", _cascade("sensor_group.id"), nullable=False),
    Column("secret", Text, nullable=False, unique=True),
    *_numbers("created_us", "revoked_us", "expires_us", "uses_max", "uses"),
    Index("ix_enrolment_secret_group_id", "group_id"),
    sqlite_autoincrement=True,
)
Table(
    "sensor_key_event",
    _SCHEMA,
    _id(),
    Column("sensor_id", _cascade("sensor.id"), nullable=False),
    *_numbers("time_us"),
    *_texts("kind", "action", "machine_id", "address", "username"),
    Index("ix_sensor_key_event_sensor_id", "sensor_id"),
    sqlite_autoincrement=True,
)
Table(
    "sensor_queue",
    _SCHEMA,
    Column("sensor_id", _cascade("sensor.id"), primary_key=True),
    Column("epoch", Text, primary_key=True),
    *_numbers("expected"),
    *_texts("missing", "hashes"),
    *_numbers("changed_us"),
)
Table(
    "sensor_health",
    _SCHEMA,
    Column(
        "sensor_id",
        ForeignKey("sensor.id", ondelete="CASCADE", name="fk_sensor_health_sensor_id_sensor"),
        primary_key=True,
    ),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),
    *_numbers("earlier", "least", "latest"),
    *_texts("message"),
    Index("ix_sensor_health_hour", "hour"),
)
Table(
    "stored_file",
    _SCHEMA,
    Column("sha256", Text, primary_key=True),
    Column("sensor_id", Integer, primary_key=True),
    *_texts("md5", "path"),
    *_numbers("size", "copied"),
    *_texts("content_sha256"),
    *_numbers("stored_us"),
    *_texts("read_by"),
    *_numbers("asked", "asked_us", "added"),
    Index("ix_stored_file_md5", "md5"),
    Index("ix_stored_file_read_by", "read_by"),
)
Table(
    "stored_file_sender",
    _SCHEMA,
    Column("sha256", Text, primary_key=True),
    Column("sensor_id", _cascade("sensor.id"), primary_key=True),
    *_numbers("copied", "stored_us"),
    Index("ix_stored_file_sender_sensor_id", "sensor_id"),
)
Table(
    "binary_order",
    _SCHEMA,
    _id(),
    Column("sensor_id", _cascade("sensor.id"), nullable=False),
    *_texts("md5", "sha256", "paths", "username", "state", "message"),
    *_numbers("created_us", "expires_us", "sent_us", "received", "ended_us"),
    Index("ix_binary_order_md5", "md5"),
    Index("ix_binary_order_sensor_id", "sensor_id", "state"),
    Index("ix_binary_order_sha256", "sha256"),
    sqlite_autoincrement=True,
)
Table(
    "yara_rule",
    _SCHEMA,
    Column("name", Text, primary_key=True),
    *_required("text"),
    *_numbers("enabled"),
    *_texts("problem", "username"),
    *_numbers("changed_us"),
)
Table(
    "live_query",
    _SCHEMA,
    _id(),
    *_required("sql"),
    *_texts("username"),
    *_numbers("created_us", "expires_us"),
    sqlite_autoincrement=True,
)
Table(
    "live_query_target",
    _SCHEMA,
    Column("query_id", _cascade("live_query.id"), primary_key=True),
    Column("sensor_id", _cascade("sensor.id"), primary_key=True),
    *_numbers("sent_us", "answered_us", "status"),
    *_texts("rows", "message"),
    Index("ix_live_query_target_sensor_id", "sensor_id"),
)
Table(
    "shard_range",
    _SCHEMA,
    Column("first_sensor_id", BigInteger, primary_key=True, autoincrement=False),
    *_required("shards"),
)
Table(
    "sensor_shard",
    _SCHEMA,
    Column("sensor_id", BigInteger, primary_key=True, autoincrement=False),
    Column("shard", Integer, nullable=False),
)
Table(
    "sensor_move",
    _SCHEMA,
    Column("sensor_id", BigInteger, primary_key=True, autoincrement=False),
    Column("source", Integer, nullable=False),
    Column("target", Integer, nullable=False),
    *_required("step"),
)
Table(
    "forwarder",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    *_required("types", "destination"),
    *_texts("options", "sealed", "query", "record_schema", "file_format", "path"),
    *_numbers("interval_s", "created_us", "changed_us"),
)
Table(
    "forwarder_stream",
    _SCHEMA,
    Column("forwarder_id", _cascade("forwarder.id"), primary_key=True),
    Column("type", Text, primary_key=True),
    *_numbers("position", "records", "files", "sent_us", "failures", "failed_us", "retry_us"),
    *_texts("error"),
    *_numbers("lost"),
)
Table(
    "forwarded_hit",
    _SCHEMA,
    _id(),
    *_numbers("created_us"),
    *_required("body"),
    sqlite_autoincrement=True,
)
Table(
    "sigma_rule",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_required("kind"),
    *_texts("text", "title", "level", "status", "version", "origin", "compiled"),
    *_numbers("codec"),
    *_texts("problem_reason", "problem_message"),
    *_flags("enabled"),
    *_numbers("revision", "created_us", "modified_us"),
    *_texts("modified_by"),
    *_numbers("text_us"),
    *_texts("text_by"),
    *_numbers("generation", "stopped_us"),
    *_texts("stopped_reason"),
    *_numbers("deleted_us"),
    Index("ix_sigma_rule_generation", "generation"),
)
Table(
    "sigma_version",
    _SCHEMA,
    Column("rule_id", Text, primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    *_texts("text", "title", "level"),
    *_numbers("text_us"),
    *_texts("text_by"),
)
Table(
    "sigma_placeholder",
    _SCHEMA,
    Column("name", Text, primary_key=True),
    Column("body", Text, nullable=False, server_default="[]"),
    *_numbers("modified_us"),
    *_texts("modified_by"),
)
Table(
    "sigma_count",
    _SCHEMA,
    Column("rule_id", Text, primary_key=True),
    *_numbers("events", "hits", "verify_us", "last_hit_us"),
)
Table(
    "correlation_state",
    _SCHEMA,
    Column("rule_id", Text, primary_key=True),
    Column("group_key", Text, primary_key=True),
    *_texts("body"),
    *_numbers("changed_us"),
    Index("ix_correlation_state_changed_us", "changed_us"),
)
Table(
    "update_job",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_texts("login_name"),
    *_required("status", "kits"),
    *_numbers("created_us", "ended_us", "expires_us", "wave", "failures_max"),
    Index("ix_update_job_status", "status"),
)
Table(
    "update_target",
    _SCHEMA,
    Column("job_id", _cascade("update_job.id"), primary_key=True),
    Column("device_id", BigInteger, primary_key=True, autoincrement=False),
    *_required("state"),
    *_texts("failure", "reason", "initial_version", "updated_version"),
    *_numbers("hinted_us"),
    *_texts("kit_type", "os"),
    Column("wave", Integer, nullable=False, server_default="0"),
    Index("ix_update_target_device_id", "device_id"),
)
Table("watermark", _SCHEMA, Column("name", Text, primary_key=True), *_numbers("seq"))
Table(
    "watchlist",
    _SCHEMA,
    Column("key", Integer, primary_key=True),
    Column("id", Integer, nullable=False, unique=True),
    *_required("name"),
    Column("description", Text),
    *_required("search_query"),
    Column("index_type", Text, nullable=False, server_default="events"),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("readonly", Boolean, nullable=False, server_default=false()),
    Column("group_id", BigInteger, nullable=False, server_default="-1"),
    *_texts("alliance_id"),
    Column("from_alliance", Boolean, nullable=False, server_default=false()),
    *_numbers(
        "user_id",
        "date_added_us",
        "last_hit_us",
        "last_hit_count",
        "total_hits",
        "total_tags",
        "search_us",
        "last_result",
    ),
    *_texts("last_error"),
    *_numbers("last_us", "cost_us", "cost_hour"),
    *_texts("stopped"),
    *_numbers("past_ms", "past_from_ms"),
    sqlite_autoincrement=True,
)
Table(
    "watchlist_id",
    _SCHEMA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("watchlist_key", ForeignKey("watchlist.key", ondelete="SET NULL")),
    *_texts("name", "search_query", "index_type"),
    *_numbers("from_us", "until_us"),
    Index("ix_watchlist_id_watchlist_key", "watchlist_key"),
)
Table(
    "server",
    _SCHEMA,
    Column("id", Text, primary_key=True),
    *_texts("url", "certificate", "version", "state_schema"),
    *_numbers("telemetry_schema", "started_us", "seen_us", "until_us"),
    Column("rules_generation", BigInteger),
    Column("shard_version", BigInteger),
    Column("partition_change", BigInteger),
)
Table(
    "host_slot",
    _SCHEMA,
    Column("slot", Integer, primary_key=True, autoincrement=False),
    *_texts("server_id"),
    *_numbers("epoch", "since_us", "held"),
)
Table(
    "commit_counter",
    _SCHEMA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    *_numbers("newest", "partition_change"),
)
Table(
    "open_commit",
    _SCHEMA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    *_required("server_id"),
    *_numbers("since_us"),
)
Table(
    "request_count",
    _SCHEMA,
    Column("name", Text, primary_key=True),
    Column("server_id", Text, primary_key=True),
    *_numbers("used", "counted_us"),
)
