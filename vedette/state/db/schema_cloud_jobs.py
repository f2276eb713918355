"""Tables of alert workflow on the cloud side, and of the cloud side's jobs.

Migrations (`migrations/`) create them, like those of `schema.py`.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from vedette.state.db.audited import audited
from vedette.state.db.schema import METADATA


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default="0")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


ALERT_WORKFLOW = Table(
    "alert_workflow",
    METADATA,
    Column("alert_id", Text, primary_key=True),
    _text("closure_reason"),
    _text("determination"),
    _text("changed_by"),
    _number("changed_us"),
)
"""Workflow values that the alert row has no columns for."""

ALERT_SETTLED = Table(
    "alert_settled",
    METADATA,
    Column("alert_id", Text, primary_key=True),
    _number("first_event_us"),
    _number("last_event_us"),
    _number("updated_us"),
)
"""Values that search v7 keeps showing for an alert that a further detection raised after it had
settled."""

ALERT_NOTE = Table(
    "alert_note",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("alert_id", Text, nullable=False),
    _text("note"),
    _text("author"),
    _number("created_us"),
    Index("ix_alert_note_alert_id", "alert_id"),
    info=audited("alert note", "id"),
)

CLOUD_JOB = Table(
    "cloud_job",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),  # alert_workflow or device_export
    Column("owner", Text, nullable=False),  # "app ID" or "user NAME"
    _text("author"),  # author in the audit log
    Column("request", Text, nullable=False),  # JSON
    Column("groups", Text, nullable=False),  # JSON list of sensor group ids; null: all
    Column("status", Text, nullable=False),  # CREATED, COMPLETED, FAILED
    _number("total"),
    _number("completed"),
    _text("errors"),
    _number("created_us"),
    _number("updated_us"),
    Index("ix_cloud_job_status", "status"),
    Index("ix_cloud_job_owner", "owner"),
    sqlite_autoincrement=True,
    info=audited("cloud job", "id", only=("id", "kind", "owner", "request")),
)
