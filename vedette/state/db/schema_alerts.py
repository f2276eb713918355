"""Tables of alerts: ignored reports, suppression rules, and the audit of bulk changes.

Migrations (`migrations/`) create them, like those of `schema.py`. The telemetry store contains the
alerts themselves.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from vedette.record.columns import columns
from vedette.record.member import audited_members
from vedette.record.objects.suppression import Suppression
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
    _number("hits"),  # suppressed detections
    info=audited("ignored report", "feed_id", "report_id", only=("feed_id", "report_id")),
)

SUPPRESSION = Table(
    "suppression",
    METADATA,
    *columns(Suppression, Column("id", Integer, primary_key=True)),
    sqlite_autoincrement=True,  # an id in an old audit record is never another rule
    info=audited("suppression", "id", "name", only=audited_members(Suppression)),
)

ALERT_AUDIT = Table(
    "alert_audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    _number("time_us"),
    _number("user_id"),
    _text("username"),
    _text("selected"),  # the query, or the number of ids
    _text("changes"),  # JSON: assigned values
    _number("changed"),  # alerts; `state/policy/alert_audit.INTERRUPTED` while the change runs
    _number("change_id"),  # id of the written versions
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
    _text("body"),  # JSON: earlier values of the alerts
    Index("ix_alert_undo_expires_us", "expires_us"),
)
