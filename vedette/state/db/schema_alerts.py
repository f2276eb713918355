"""Tables of alerts: ignored reports, suppression rules, and the audit of bulk changes.

Their history is in `migrations/`, like that of `schema.py`. Alerts themselves lie in the telemetry
store.
"""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table, Text

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


REPORT_IGNORED = Table(
    "report_ignored",
    METADATA,
    Column("feed_id", BigInteger, primary_key=True, autoincrement=False),
    Column("report_id", Text, primary_key=True),
    _number("user_id"),
    _text("username"),
    _number("time_us"),
    _number("hits"),  # detections that made no alert
    info=audited("ignored report", "feed_id", "report_id", only=("feed_id", "report_id")),
)

SUPPRESSION = Table(
    "suppression",
    METADATA,
    Column("id", Integer, primary_key=True),
    _text("name"),
    Column("query", Text, nullable=False),  # over the fields of alerts
    _text("reason"),
    Column("enabled", Boolean, nullable=False),
    _number("created_us"),
    _number("changed_us"),
    _number("expires_us"),  # 0: never
    _number("user_id"),  # of the latest change
    _text("username"),
    _number("hits"),  # detections that made no alert
    _number("last_hit_us"),
    sqlite_autoincrement=True,  # an id in an old audit record is never another rule
    info=audited(
        "suppression", "id", "name", only=("name", "query", "reason", "enabled", "expires_us")
    ),
)

ALERT_AUDIT = Table(
    "alert_audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    _number("time_us"),
    _number("user_id"),
    _text("username"),
    _text("selected"),  # the query, or how many ids
    _text("changes"),  # JSON: what was set
    _number("changed"),  # alerts; `state/policy/alert_audit.INTERRUPTED` until it ends
    _number("change_id"),  # of the versions that it wrote
    Index("ix_alert_audit_time_us", "time_us"),
    sqlite_autoincrement=True,
    info=audited("alerts", "selected", only=("selected", "changes", "changed")),
)

ALERT_UNDO = Table(
    "alert_undo",
    METADATA,
    Column("change_id", BigInteger, primary_key=True, autoincrement=False),
    _number("user_id"),
    _text("username"),
    _number("made_us"),
    _number("expires_us"),
    _text("body"),  # JSON: what the alerts were
    Index("ix_alert_undo_expires_us", "expires_us"),
)
